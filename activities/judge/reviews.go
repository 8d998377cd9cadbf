package judge

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// ErrReviewPending says that the definition of a discovered tool in this worker does not follow its
// review in policy yet. Another worker may have one that does.
var ErrReviewPending = errors.New("the definition of the tool does not follow its review yet")

// PendingReview names what a call lacks that waits for a definition which follows its review.
func PendingReview(toolID string) string { return "the reviewed definition of " + toolID }

// CheckReview returns the failure of a call of a discovered tool whose definition in this worker nobody
// has reviewed, and of a registered tool that the tenant may not use: a gate of a release that does not know
// registered tools lets a pattern such as * allow them. With engines, allowedTools is theirs to apply. The
// error is ErrReviewPending, or that of Policies.
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
