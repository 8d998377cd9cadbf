package policy

import (
	"slices"

	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/script"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Class is the precedence of a rule. A lower class decides before a higher class. Within a class
// the first rule that applies decides. The mode table comes last.
type Class int

// The classes.
const (
	// Raising rules decide nothing: they raise the risk that the mode table uses.
	Raising Class = iota
	// Denying has deny rules and, with noSchemaMode deny, the rule for calls without a schema.
	Denying
	// Asking has require_approval rules, requireApprovalForEffects, the rule for repaired calls
	// and, with noSchemaMode ask, the rule for calls without a schema.
	Asking
	// Allowing has allow rules. They allow calls for which the mode would ask.
	Allowing
	// ByMode is the entry of the mode table that applies if no rule decides.
	ByMode
)

// Rule is one compiled rule. Effects and Risks match the declarations of the tool; an empty list
// matches all. A rule of the document with a decision and a risk becomes two compiled rules.
type Rule struct {
	Class   Class
	Verb    Verb
	Tool    document.Pattern
	Effects []toolspec.Effect
	Risks   []toolspec.Risk
	Roles   []string // the actor needs one of them; empty is every actor
	// Raise is the minimum risk of a call that a raising rule applies to.
	Raise toolspec.Risk
	// Otherwise says why one of Pawl's own rules does not apply to a call: `the arguments were readable`.
	// Explanations show it.
	Otherwise string
	// Message is safe to show. If it is empty, a general message is used.
	Message string
	// Source is the path of the rule: tenants.acme.rules[0].
	Source string
	// At is the position of the rule in the file. It is zero for a rule that Pawl adds.
	At strictyaml.Position

	// Commands are the patterns of an allowing rule for scripts: the rule applies to a script if they match all
	// its commands. It is empty for a rule without commands.
	Commands []script.Pattern

	cond predicate // nil is always true
	// text is the rule in the document, as JSON. It is empty for a rule that Pawl adds.
	text string
	// approvers is the change that an asking rule makes to the tenant's approvals. The zero value
	// changes nothing.
	approvers approvers
}

// Condition returns the condition that the document gives to the rule, with the position of its
// text in the file. It is nil if there is none.
func (r *Rule) Condition() (*condition.Condition, strictyaml.Position) {
	if w, ok := r.cond.(written); ok {
		return w.Condition, w.at
	}
	return nil, strictyaml.Position{}
}

// Unconditional reports whether the rule applies to every call that its tool, effects, risks and
// roles match.
func (r *Rule) Unconditional() bool { return r.cond == nil && len(r.Commands) == 0 }

// NamesPeople reports whether the rule names who approves, or asks for more people than the tenant.
func (r *Rule) NamesPeople() bool { return r.approvers.namesPeople() }

// Matching returns the tools that a rule may apply to.
func (r *Rule) Matching(specs []toolspec.Spec) []toolspec.Spec {
	var matching []toolspec.Spec
	for _, s := range specs {
		if r.Tool.Matches(s.Name) && (r.Class != Allowing || (s.ScriptArg == "") == (len(r.Commands) == 0)) && (len(r.Effects) == 0 || slices.Contains(r.Effects, s.Effect)) &&
			(len(r.Risks) == 0 || slices.Contains(r.Risks, s.Risk)) {
			matching = append(matching, s)
		}
	}
	return matching
}

// coversScript reports whether an allowing rule fits the script of the call. A rule with commands fits a script
// only if they match all commands of the script, and fits no tool that runs no scripts. A rule without commands
// fits only tools that run no scripts. The result for a rule of another class is Yes.
func (r *Rule) coversScript(e *evaluation) condition.Truth {
	switch f := &e.facts; {
	case r.Class != Allowing, f.ScriptArg == "" && len(r.Commands) == 0:
		return condition.Yes
	case f.ScriptArg == "" || len(r.Commands) == 0:
		return condition.No
	case !f.HasArgs:
		return condition.Undetermined
	case script.Covers(r.Commands, e.script()):
		return condition.Yes
	}
	return condition.No
}

// applies reports whether the rule applies to the call.
func (r *Rule) applies(e *evaluation) condition.Truth {
	switch f := &e.facts; {
	case !r.Tool.Matches(f.ToolID),
		len(r.Effects) > 0 && !slices.Contains(r.Effects, f.Effect),
		len(r.Risks) > 0 && !slices.Contains(r.Risks, f.Risk),
		len(r.Roles) > 0 && !e.hasOne(r.Roles):
		return condition.No
	}
	covers := r.coversScript(e)
	if covers == condition.No || r.cond == nil {
		return covers
	}
	answer := r.cond.eval(e)
	if answer == condition.Yes {
		answer = covers
	}
	if answer == condition.Undetermined && e.facts.HasArgs {
		// The arguments are known, so nothing more will become known. The condition counts as failed: a deny rule
		// then denies the call, and an allow rule does not allow it.
		return condition.Failed
	}
	return answer
}
