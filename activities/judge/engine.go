package judge

import "github.com/pawl-run/pawl/policy"

// PolicyEngine decides on calls by one version of the policy. A *policy.Policy is Pawl's own
// engine. An engine returns the same decision for the same facts, and does no I/O.
type PolicyEngine interface {
	// Decide judges a call. Before the arguments are known, the gate acts only on a deny.
	Decide(f policy.Facts) policy.Decision
}

// PolicyEngines returns the engine that decides by a version of the policy. If PolicyEngines is
// nil, the version itself decides. Roles, permissions, limits, features and cache times are always
// those of the version.
type PolicyEngines func(version *policy.Policy) PolicyEngine

// Decide returns the decision of the engine of a version. It denies the call if there is no version,
// if there is no engine for the version, or if the engine returns none of the three verdicts.
func (e PolicyEngines) Decide(version *policy.Policy, f policy.Facts) policy.Decision {
	if e == nil || version == nil {
		return version.Decide(f)
	}
	engine := e(version)
	if engine == nil {
		return policy.Decision{Verb: policy.Deny, Rule: "policy engine", Message: "there is no policy engine for this version of the policy"}
	}
	d := engine.Decide(f)
	switch d.Verb {
	case policy.Allow, policy.Deny, policy.RequireApproval:
		return d
	}
	return policy.Decision{Verb: policy.Deny, Rule: "policy engine", Message: "the policy engine returned no verdict"}
}
