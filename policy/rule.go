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
	// byMode is the line of the mode table that is left.
	byMode
)

// rule is one line of the compiled list. Empty effects or risks are all of them;
// both mean what the tool declares.
type rule struct {
	class   class
	verb    Verb
	tool    Pattern
	effects []toolspec.Effect
	risks   []toolspec.Risk
	roles   []string  // of which the actor has one; empty is every actor
	cond    condition // nil always holds
	// raise is the least risk of a call that a raising rule applies to.
	raise toolspec.Risk
	// otherwise says why one of Pawl's own rules does not apply.
	otherwise string
	// approvers are who approves the calls of an asking rule; the zero value is the tenant's.
	approvers approvers
	// message is safe to show; empty takes a general one.
	message string
	// source is where the rule stands: tenants.acme.rules[0].
	source string
	// at is where that is in the file.
	at origin
}

// applies says whether the rule speaks of the call.
func (r *rule) applies(e *evaluation) truth {
	switch f := &e.facts; {
	case !r.tool.Matches(f.ToolID),
		len(r.effects) > 0 && !slices.Contains(r.effects, f.Effect),
		len(r.risks) > 0 && !slices.Contains(r.risks, f.Risk),
		len(r.roles) > 0 && !e.hasOne(r.roles):
		return no
	case r.cond == nil:
		return yes
	}
	answer := r.cond.eval(e)
	if answer == undetermined && e.facts.HasArgs {
		// Nothing more will be known later, so waiting for it would be an allow.
		return failed
	}
	return answer
}
