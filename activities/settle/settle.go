package settle

import (
	"context"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Store closes records. An error that a retry can correct is marked errs.Transient.
type Store interface {
	Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error)
}

// Settler ends calls. All fields are needed.
type Settler struct {
	Store Store
	// Forget drops the values that this worker keeps for a call.
	Forget func(invocationID string)
}

// Settle closes the record of a call in one round trip.
func (s *Settler) Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error) {
	if in.Unaudited != nil {
		// A call whose ids have the shape of a secret has no line. That must not keep the call open.
		if v, err := Audit(ctx, hook.StageInput{Facts: *in.Unaudited}); err == nil {
			in.Audit = append(in.Audit, v.Delta.Audit...)
		}
		in.Unaudited = nil
	}
	out, err := s.Store.Settle(ctx, in)
	if err == nil {
		s.Forget(in.InvocationID)
	}
	return out, err
}
