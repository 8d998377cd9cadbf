package activities

import (
	"context"

	"github.com/pawl-run/pawl/workflows/contract"
)

// Check asks whether a dispatch that never answered had begun.
func (a *Activities) Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error) {
	return a.records.Check(ctx, in)
}

// Settle closes the record in one round trip.
func (a *Activities) Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error) {
	out, err := a.records.Settle(ctx, in)
	if err == nil {
		a.config.Places.Forget(in.InvocationID)
		if a.config.Providers != nil {
			a.config.Providers.Forget(in.InvocationID)
		}
	}
	return out, err
}
