package policy

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/policy/condition"
)

// evaluation judges one call. It computes the roles of the actor and the variables of conditions once, although
// many rules use them. Only one goroutine may use it.
type evaluation struct {
	facts  Facts
	tenant *tenant
	// unreviewed is the decision on a discovered tool without a valid review; nil for every other call.
	unreviewed *Decision
	roles      []string
	// rolesComputed says that roles has been computed.
	rolesComputed bool
	vars          *condition.Variables
}

func (p *Policy) evaluation(t *tenant, f Facts) *evaluation {
	e := &evaluation{facts: p.UnderReview(f), tenant: t}
	if d, ok := p.DenyUnreviewed(f); ok {
		e.unreviewed = &d
	}
	return e
}

// variables returns what conditions see of the call.
func (e *evaluation) variables() *condition.Variables {
	if e.vars == nil {
		f := &e.facts
		e.vars = &condition.Variables{
			TenantID: f.TenantID, ActorID: f.ActorID, SubjectID: f.SubjectID, RunID: f.RunID, ConnectionID: f.ConnectionID,
			ToolID: f.ToolID, Effect: f.Effect, Risk: f.Risk, Tags: f.Tags, TagsUnknown: f.TagsUnknown,
			Roles: e.rolesOf, Args: f.Args, HasArgs: f.HasArgs,
		}
	}
	return e.vars
}

// script returns the script of the call. It returns "", which no pattern of commands covers, if the argument is no
// text.
func (e *evaluation) script() string {
	var args map[string]json.RawMessage
	var text string
	if json.Unmarshal(e.facts.Args, &args) != nil || json.Unmarshal(args[e.facts.ScriptArg], &text) != nil {
		return ""
	}
	return text
}

// rolesOf returns the roles of the actor, sorted.
func (e *evaluation) rolesOf() []string {
	if !e.rolesComputed {
		e.roles, e.rolesComputed = e.tenant.rolesOf(e.facts.ActorID), true
		if len(e.facts.Roles) > 0 {
			e.roles = append(e.roles, e.facts.Roles...)
			slices.Sort(e.roles)
			e.roles = slices.Compact(e.roles)
		}
	}
	return e.roles
}

func (e *evaluation) hasOne(roles []string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(e.rolesOf(), r) })
}
