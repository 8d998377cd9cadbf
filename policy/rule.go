package policy

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// class orders the rules. A lower class decides before a higher one; within a
// class the first rule that applies explains. After all of them stands the mode
// table.
type class int

const (
	// raising rules decide nothing: they raise the risk that the mode table sees.
	raising class = iota
	denying
	// asking holds require_approval rules, requireApprovalForEffects, and calls
	// whose arguments were repaired or met no schema.
	asking
	// allowing rules lift the mode's question.
	allowing
)

// rule is one line of the compiled list. Empty effects or risks are all of them;
// both mean what the tool declares.
type rule struct {
	class   class
	verb    Verb
	tool    Pattern
	effects []toolspec.Effect
	risks   []toolspec.Risk
	cond    condition // nil always holds
	// raise is the least risk of a call that a raising rule applies to.
	raise toolspec.Risk
	// message is safe to show; empty takes a general one.
	message string
	// source is where the rule stands: tenants.acme.rules[0].
	source string
}

// applies says whether the rule speaks of the call.
func (r rule) applies(f Facts) truth {
	switch {
	case !r.tool.Matches(f.ToolID),
		len(r.effects) > 0 && !slices.Contains(r.effects, f.Effect),
		len(r.risks) > 0 && !slices.Contains(r.risks, f.Risk):
		return no
	case r.cond == nil:
		return yes
	}
	answer := r.cond.eval(f)
	if answer == undetermined && f.HasArgs {
		// Nothing more will be known later, so waiting for it would be an allow.
		return failed
	}
	return answer
}
