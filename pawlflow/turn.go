package pawlflow

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// Planned is one call of a response of a model, before it starts. An activity of yours asks the model, reads its
// response with Plan of package client/turn, and returns one Planned for each call.
type Planned struct {
	// Invocation is the call that would start. It is the zero value if Refused is not nil.
	Invocation toolspec.Invocation `json:"invocation"`
	// Alone says that the call may have an effect, so it runs alone: after the calls before it in the response
	// and before the calls after it.
	Alone bool `json:"alone,omitempty"`
	// Refused is the result of a call that cannot start, or nil.
	Refused *toolspec.Result `json:"refused,omitempty"`
	// Same is the index of an earlier, equal call of the response, whose result counts for both; -1 if there is none.
	Same int `json:"same"`
}

// Turn runs the calls of one response of a model and returns their results in order. Adjacent calls that are
// not Alone run side by side, at most atOnce; 0 and 1 mean one at a time. Each call has its own result: a call
// that is denied or fails does not stop the others. If ctx is cancelled, the open calls are asked to stop, and
// calls that have not started end as cancelled.
//
// An error says that Temporal could not start or find a call, or that calls is not valid. No call starts after an
// error. Turn still waits for the open calls, and returns the zero value for each call without a result.
func Turn(ctx workflow.Context, calls []Planned, atOnce int) ([]toolspec.Result, error) {
	for i, p := range calls {
		if p.Same >= i || p.Same >= 0 && calls[p.Same].Same >= 0 {
			return nil, fmt.Errorf("pawlflow: call %d is the same as call %d, which must be an earlier call that runs", i, p.Same)
		}
	}
	results, failed := make([]toolspec.Result, len(calls)), make([]error, len(calls))
	for _, batch := range toolspec.Batches(len(calls), func(i int) bool { return calls[i].Alone }) {
		runBatch(ctx, calls, batch, atOnce, results, failed)
		if err := errors.Join(failed...); err != nil {
			return results, err
		}
	}
	for i, p := range calls {
		if p.Same >= 0 {
			results[i] = results[p.Same]
		}
	}
	return results, nil
}

// runBatch runs the calls with the indexes of a batch, and writes their results or errors.
func runBatch(ctx workflow.Context, calls []Planned, batch []int, atOnce int, results []toolspec.Result, failed []error) {
	slots, all := workflow.NewSemaphore(ctx, int64(max(atOnce, 1))), workflow.NewWaitGroup(ctx)
	for _, i := range batch {
		switch p := calls[i]; {
		case p.Same >= 0:
			continue
		case p.Refused != nil:
			results[i] = *p.Refused
			continue
		}
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			// After a cancel, each call still gets a result, so the wait for a slot continues.
			waiting, _ := workflow.NewDisconnectedContext(ctx)
			if failed[i] = slots.Acquire(waiting, 1); failed[i] != nil {
				return
			}
			defer slots.Release(1)
			if errors.Join(failed...) != nil {
				return // no call starts after an error
			}
			results[i], failed[i] = Invoke(ctx, calls[i].Invocation)
		})
	}
	all.Wait(ctx)
}
