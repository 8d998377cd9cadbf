package activities

import (
	"context"

	"github.com/pawl-run/pawl/workflows"
)

// Check asks whether a dispatch that never answered had begun.
func (a *Activities) Check(ctx context.Context, in workflows.CheckIn) (workflows.CheckOut, error) {
	return a.records.Check(ctx, in)
}

// Settle closes the record in one round trip.
func (a *Activities) Settle(ctx context.Context, in workflows.SettleIn) (workflows.SettleOut, error) {
	out, err := a.records.Settle(ctx, in)
	if err == nil {
		a.places.forget(in.InvocationID)
		if a.config.Providers != nil {
			a.config.Providers.Forget(in.InvocationID)
		}
	}
	return out, err
}
