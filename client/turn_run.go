package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/toolspec"
)

// run starts the calls of a plan and waits for them, batch by batch.
func (c *Client) run(ctx context.Context, t Turn, plan Plan) []Outcome {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if t.Wait > 0 {
		waiting, cancel = context.WithTimeout(ctx, t.Wait)
	}
	defer cancel()
	outcomes := make([]Outcome, len(plan.Calls))
	stop := false
	for _, batch := range batches(plan.Calls, t.Together) {
		var group errgroup.Group
		if group.SetLimit(defaultAtOnce); t.AtOnce > 0 {
			group.SetLimit(t.AtOnce)
		}
		for _, i := range batch {
			outcomes[i] = plan.Calls[i].outcome()
			if stop || !outcomes[i].Pending || plan.Calls[i].same >= 0 {
				continue
			}
			group.Go(func() error {
				c.take(ctx, waiting, plan.Calls[i].Invocation, &outcomes[i])
				return nil
			})
		}
		_ = group.Wait() // each error is in its outcome
		for _, i := range batch {
			// What comes after a call of which nobody knows must not overtake it.
			stop = stop || outcomes[i].Pending && plan.Calls[i].same < 0
		}
	}
	for i, p := range plan.Calls {
		if p.same >= 0 {
			first := outcomes[p.same]
			first.Call, first.Err = p.Call, nil
			outcomes[i] = first
		}
	}
	return outcomes
}

// batches puts together what may run together: reads with their neighbours, and an
// effect by itself.
func batches(calls []PlannedCall, together bool) (all [][]int) {
	open := false
	for i, p := range calls {
		alone := p.alone && !together
		if open && !alone {
			all[len(all)-1] = append(all[len(all)-1], i)
			continue
		}
		all = append(all, []int{i})
		open = !alone
	}
	return all
}

// take starts one call, or finds it, and waits for its result.
func (c *Client) take(ctx, waiting context.Context, inv toolspec.Invocation, o *Outcome) {
	if waiting.Err() != nil {
		o.Err = notTaken(ctx)
		return
	}
	result, started, err := c.settled(waiting, inv)
	o.Started = started
	switch {
	case err == nil:
		o.Result, o.Pending = result, false
		if !started {
			o.ToolCallID, o.InvocationID, o.WorkflowID = "", "", ""
		}
	case ctx.Err() != nil, !errors.Is(err, ErrNoAnswer):
		o.Err = err
	}
}

// notTaken says that the caller's time was over before a call could start; where it
// was only Wait that ended, there is nothing to say.
func notTaken(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return ErrNoAnswer
}

// settled is how a call ended, with a value or without.
func (c *Client) settled(ctx context.Context, inv toolspec.Invocation) (result toolspec.Result, started bool, err error) {
	call, err := c.Start(ctx, inv)
	if err == nil {
		started = true
		result, err = c.Result(ctx, call)
	}
	var failed *CallError
	var closed *temporal.WorkflowExecutionError
	switch {
	case errors.As(err, &failed):
		return failed.Result, started, nil
	case errors.As(err, &closed):
		// Somebody terminated it, or it failed: the record may say more in time, but what
		// it did, or did not do, this program cannot know.
		result = toolspec.Failure(toolspec.CodeOutcomeUnknown, "", &toolspec.Details{Cause: "the workflow closed without a result"})
		result.ToolCallID, result.InvocationID = inv.ToolCallID, call.InvocationID
		return result, started, nil
	}
	return result, started, err
}
