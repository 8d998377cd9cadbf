package policy

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// class is the precedence of a rule. A lower class decides before a higher class. Within a class
// the first rule that applies decides. The mode table comes last.
type class int

const (
	// raising rules decide nothing: they raise the risk that the mode table uses.
	raising class = iota
	denying
	// asking has require_approval rules, requireApprovalForEffects, the rule for repaired calls
	// and, with noSchemaMode ask, the rule for calls without a schema.
	asking
	// allowing rules make the question of the mode unnecessary.
	allowing
	// byMode is the entry of the mode table that applies if no rule decides.
	byMode
)

// rule is one rule of the compiled list. Effects and risks match the declarations of the tool; an
// empty list matches all.
type rule struct {
	class   class
	verb    Verb
	tool    Pattern
	effects []toolspec.Effect
	risks   []toolspec.Risk
	roles   []string  // the actor needs one of them; empty is every actor
	cond    condition // nil is always true
	// raise is the minimum risk of a call that a raising rule applies to.
	raise toolspec.Risk
	// otherwise is the reason why one of Pawl's own rules does not apply.
	otherwise string
	// approvers is the change that an asking rule makes to the tenant's approvals. The zero value
	// changes nothing.
	approvers approvers
	// message is safe to show. If it is empty, a general message is used.
	message string
	// source is the path of the rule: tenants.acme.rules[0].
	source string
	// at is the position of the rule in the file.
	at origin
}

// applies reports whether the rule applies to the call.
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
		// No more facts of the call will be known later. If the rule stayed undetermined, the
		// call could be allowed.
		return failed
	}
	return answer
}
