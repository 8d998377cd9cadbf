package steps

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
)

// Local runs a local activity and returns its answer. a is the handle of the activity.
// Local panics if the worker stops during the activity.
func Local[In, Out any](ctx workflow.Context, a contract.Activity[In, Out], in In, options workflow.LocalActivityOptions) (Out, error) {
	var out Out
	raw, err := contract.Encode(in)
	if err != nil {
		return out, err
	}
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), a.Name(), raw).Get(ctx, &out)
	if temporal.IsCanceledError(err) && ctx.Err() == nil {
		// The SDK has cancelled the step because the worker stops, and nobody has cancelled the call, so the call must not end as
		// cancelled. The panic fails the workflow task, and another worker runs the step.
		panic("the worker stopped during " + a.Name())
	}
	return out, err
}

// Regular runs a regular activity and returns its answer. a is the handle of the
// activity. Regular does not check the receipt of the answer. The activities of a call
// use Ask, which checks the receipt.
func Regular[In, Out any](ctx workflow.Context, a contract.Activity[In, Out], in In, options workflow.ActivityOptions) (Out, error) {
	var out Out
	begun, err := Begin(ctx, a, in, options)
	if err != nil {
		return out, err
	}
	err = begun.Get(ctx, &out)
	return out, err
}

// Begun is a scheduled regular activity and its encoded input.
type Begun struct {
	workflow.Future
	input []byte
}

// Begin schedules a regular activity and does not wait for its answer. a is the handle of
// the activity.
func Begin[In, Out any](ctx workflow.Context, a contract.Activity[In, Out], in In, options workflow.ActivityOptions) (Begun, error) {
	raw, err := contract.Encode(in)
	if err != nil {
		return Begun{}, err
	}
	future := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), a.Name(), raw)
	return Begun{Future: future, input: raw.Payload().GetData()}, nil
}

// Disconnected returns a context that stays active when the call is cancelled.
func Disconnected(ctx workflow.Context) workflow.Context {
	d, _ := workflow.NewDisconnectedContext(ctx)
	return d
}
