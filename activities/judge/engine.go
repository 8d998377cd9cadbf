package judge

import (
	"context"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// Decide returns the decision of the engine for a policy version, or the decision of the version itself if
// engines is nil. It denies the call if there is no version, if there is no engine for the version, or if the
// engine returns none of the three verdicts. If nobody has reviewed the definition of a discovered tool, the
// version denies the call, and Decide asks no engine. The error is transient: the engine failed.
func Decide(ctx context.Context, engines policy.Engines, version *policy.Policy, f policy.Facts) (policy.Decision, error) {
	if engines == nil || version == nil {
		return version.Decide(f), nil
	}
	if d, unreviewed := version.DenyUnreviewed(f); unreviewed {
		return d, nil
	}
	engine := engines(version)
	if engine == nil {
		return policy.Decision{Verb: policy.Deny, Rule: "policy engine", Message: "there is no policy engine for this version of the policy"}, nil
	}
	d, err := engine.Decide(ctx, version.UnderReview(f))
	if err != nil {
		return policy.Decision{}, errs.Transient(&undecided{err})
	}
	switch d.Verb {
	case policy.Allow, policy.Deny, policy.RequireApproval:
		return d, nil
	}
	return policy.Decision{Verb: policy.Deny, Rule: "policy engine", Message: "the policy engine returned no verdict"}, nil
}

// undecided is the error of a policy engine that failed.
type undecided struct{ cause error }

// Error implements error.
func (u *undecided) Error() string { return "the policy engine failed: " + u.cause.Error() }

// Unwrap returns the cause.
func (u *undecided) Unwrap() error { return u.cause }

// LogReason returns the part of the error that may be logged.
func (u *undecided) LogReason() string { return "the policy engine failed: " + errs.Reason(u.cause) }
