package stage

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Records knows which execution owns a call.
type Records interface {
	// Owned returns the recorded plan of a call. owned is false if the record is not open, has
	// another epoch, or belongs to another call or another execution. An error that a retry can
	// correct is marked errs.Transient.
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

// Owns compares the record of a call with the execution that ctx belongs to. It returns what
// Records.Owned returns.
func Owns(ctx context.Context, records Records, f hook.Facts, epoch int) (plan hook.Plan, owned bool, err error) {
	return records.Owned(ctx, OwnedRow{InvocationID: f.InvocationID, Epoch: epoch, ToolID: f.ToolID, ToolCallID: f.ToolCallID, Context: f.Context})
}
