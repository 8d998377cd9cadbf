package judge

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// ErrReviewPending says that the definition of a discovered tool in this worker is not the reviewed
// definition yet. Another worker may have the reviewed definition.
var ErrReviewPending = errors.New("the definition of the tool does not follow its review yet")

// PendingReview names the part for which a call waits: the reviewed definition of its tool.
func PendingReview(toolID string) string { return "the reviewed definition of " + toolID }

// CheckReview returns a failure in two cases: nobody has reviewed the definition that this worker has of a
// discovered tool, or the tenant may not use a registered tool. The second check is needed because the gate
// of an older release does not know registered tools, and lets a pattern such as * allow them. If there are
// policy engines, they apply allowedTools, so CheckReview leaves the second check out. The error is
// ErrReviewPending, or an error of policies.
func CheckReview(ctx context.Context, policies Policies, engines policy.Engines, digest string, f hook.Facts, bound *catalog.Bound) (*hook.Failure, error) {
	discovered := bound.Discovered()
	if discovered == nil && toolspec.TenantOfTool(bound.ID()) == "" {
		return nil, nil
	}
	p, err := policies.Policy(ctx, digest)
	if err != nil {
		return nil, err
	}
	facts := PolicyFacts(f, false)
	facts.Discovered = discovered
	if d, unreviewed := p.DenyUnreviewed(facts); unreviewed {
		return denied(d), nil
	}
	if d, foreign := p.DenyRegistered(facts); foreign && engines == nil {
		return denied(d), nil
	}
	if p.ReviewOf(facts.ToolID, discovered) == policy.Pending {
		return nil, ErrReviewPending
	}
	return nil, nil
}

func denied(d policy.Decision) *hook.Failure {
	return &hook.Failure{Code: toolspec.CodePolicyDenied, SafeMessage: d.Message, Details: &toolspec.Details{Rule: d.Rule}}
}
