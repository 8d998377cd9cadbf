package judge

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// Masked returns the tool with the masks of a policy version for the tenant of a call. The failure
// comes from CheckMasks, and the error from Policies.Policy.
func Masked(ctx context.Context, policies Policies, digest, tenantID string, bound *catalog.Bound) (*catalog.Bound, *hook.Failure, error) {
	p, err := policies.Policy(ctx, digest)
	if err != nil {
		return nil, nil, err
	}
	masks := p.Masks(tenantID, bound.ID())
	return bound.WithMasks(masks, p.StreamMasker(tenantID, bound.ID())), CheckMasks(bound, masks), nil
}

// CheckMasks returns the failure of a call whose policy masks texts of the output that the schema of
// the tool restricts: with the mask, an output could break its contract after the tool had its effect.
func CheckMasks(bound *catalog.Bound, masks toolspec.Masks) *hook.Failure {
	for _, path := range masks.Paths() {
		if err := bound.CheckMask(path); err != nil && !errors.Is(err, schema.ErrNoText) {
			return &hook.Failure{
				Code: toolspec.CodePolicyDenied, SafeMessage: "policy masks a part of the output that the tool's schema restricts: " + err.Error(),
				Details: &toolspec.Details{Rule: "mask " + path},
			}
		}
	}
	return nil
}
