package stage

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Records knows which Temporal run owns a call.
type Records interface {
	// Owned returns the recorded plan of a call. owned is false if the call is settled, if its record
	// has another epoch or belongs to another Temporal run than ctx (contract.Executing), or if the
	// record differs from in. An error that a retry can correct is marked errs.Transient.
	Owned(ctx context.Context, in OwnedRow) (plan hook.Plan, owned bool, err error)
}

// OwnedRow is a call as the input of an activity describes it.
type OwnedRow struct {
	InvocationID string
	Epoch        int
	ToolID       string
	ToolCallID   string
	Context      toolspec.Context
}

// Owns returns the recorded plan of the call of f. owned reports whether the Temporal run of ctx owns the
// call, and f describes the call as the record does: see Records.Owned.
func Owns(ctx context.Context, records Records, f hook.Facts, epoch int) (plan hook.Plan, owned bool, err error) {
	return records.Owned(ctx, OwnedRow{InvocationID: f.InvocationID, Epoch: epoch, ToolID: f.ToolID, ToolCallID: f.ToolCallID, Context: f.Context})
}
