package policy

import (
	"slices"

	"github.com/pawl-run/pawl/policy/condition"
)

// Trace is a decision with the results of the rules that led to it.
type Trace struct {
	Decision Decision
	// Roles are the roles of the actor, sorted.
	Roles []string
	// Rules are all rules in the order of their precedence, with their results. The last one is
	// the entry of the mode table. The list is empty if the call is denied before any rule.
	Rules []Result
}

// Result is the result of a rule for one call.
type Result struct {
	Rule
	// Applies is the truth of the condition. It is condition.No if the tool, the effect, the risk or the
	// roles of the rule do not match the call.
	Applies condition.Truth
	// Failure is the reason why the condition of the document failed.
	Failure string
}

// Counts reports whether the rule takes part in the decision: it applies, or its condition failed and it is no
// allow rule.
func (r *Result) Counts() bool {
	return r.Applies == condition.Yes || r.Applies == condition.Failed && r.Verb != Allow
}

// Name returns the name of the rule as decisions have it. A rule that counts only because its condition
// failed has a suffix that says so. An allow rule has no suffix: with a failed condition it does not count.
func (r *Result) Name() string {
	if r.Applies == condition.Failed && r.Verb != Allow {
		return r.Source + failedSource
	}
	return r.Source
}

// Trace judges a call as Decide does, and returns what led to the decision.
func (p *Policy) Trace(f Facts) Trace {
	trace := Trace{Decision: p.Decide(f)}
	t := p.tenant(f.TenantID)
	if t == nil {
		return trace
	}
	e := p.evaluation(t, f)
	trace.Roles = slices.Clone(e.rolesOf())
	if t.precondition(e) != nil {
		return trace
	}
	for i := range t.rules {
		result := Result{Rule: t.rules[i], Applies: t.rules[i].applies(e)}
		if w, ok := result.cond.(written); ok && result.Applies == condition.Failed {
			result.Failure = w.Failure(e.variables())
		}
		trace.Rules = append(trace.Rules, result)
	}
	last := modeRule(t.modeOf(f.ToolID), trace.Decision.Risk)
	trace.Rules = append(trace.Rules, Result{Rule: *last, Applies: condition.Yes})
	return trace
}
