package turn

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// runAll starts the calls of a plan, waits for them batch by batch, and returns the outcome of each. A call that
// is the same as an earlier call does not start: it gets the outcome of that call. After a call without a result,
// no later batch starts.
func (t Turn) runAll(ctx context.Context, c *client.Client, plan Plan) []Outcome {
	waitCtx, cancel := ctx, context.CancelFunc(func() {})
	if t.Wait > 0 {
		waitCtx, cancel = context.WithTimeout(ctx, t.Wait)
	}
	defer cancel()
	outcomes := make([]Outcome, len(plan.Calls))
	stop := false
	for _, batch := range batches(plan.Calls, t.Together) {
		var group errgroup.Group
		group.SetLimit(max(t.AtOnce, 1))
		for _, i := range batch {
			outcomes[i] = plan.Calls[i].outcome()
			if stop || !outcomes[i].Pending || plan.Calls[i].Same >= 0 {
				continue
			}
			group.Go(func() error {
				runCall(ctx, waitCtx, c, plan.Calls[i].Invocation, &outcomes[i])
				return nil
			})
		}
		_ = group.Wait() // each error is in its outcome
		for _, i := range batch {
			// A later call must not run before a call that has no result yet.
			stop = stop || outcomes[i].Pending && plan.Calls[i].Same < 0
		}
	}
	for i, p := range plan.Calls {
		if p.Same >= 0 {
			first := outcomes[p.Same]
			first.Call, first.Err = p.Call, nil
			outcomes[i] = first
		}
	}
	return outcomes
}

// batches groups the calls that may run at the same time: adjacent reads, and each effect alone.
func batches(calls []PlannedCall, together bool) [][]int {
	return toolspec.Batches(len(calls), func(i int) bool { return calls[i].Alone && !together })
}

// runCall starts one call, or finds it if it was started before, waits for its result until waitCtx ends, and
// writes the outcome into o. waitCtx is ctx with the time limit Turn.Wait: when only this limit has ended, o stays
// Pending, and that is no error.
func runCall(ctx, waitCtx context.Context, c *client.Client, inv toolspec.Invocation, o *Outcome) {
	if waitCtx.Err() != nil {
		if ctx.Err() != nil { // else only Wait has ended, which is no error
			o.Err = client.ErrNoAnswer
		}
		return
	}
	result, started, err := waitForEnd(waitCtx, c, inv)
	o.Started = started
	switch {
	case err == nil:
		o.Result, o.Pending = result, false
		if !started {
			o.ToolCallID, o.InvocationID, o.WorkflowID = "", "", ""
		}
	case ctx.Err() != nil, !errors.Is(err, client.ErrNoAnswer):
		o.Err = err
	}
}

// waitForEnd starts a call and returns its result. A failed call has a result too, and so has a call that the
// client refuses: err is nil then. started says that the call was started or found.
func waitForEnd(ctx context.Context, c *client.Client, inv toolspec.Invocation) (result toolspec.Result, started bool, err error) {
	call, err := c.Start(ctx, inv)
	if err == nil {
		started = true
		result, err = c.Result(ctx, call)
	}
	var failed *client.CallError
	if errors.As(err, &failed) {
		return failed.Result, started, nil
	}
	return result, started, err
}
