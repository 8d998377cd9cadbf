package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// errLeaving is the error of a stage that a stopping worker leaves to another worker.
var errLeaving = errors.New("the worker stops")

// hooksResult is the result of the hooks of a stage.
type hooksResult struct {
	verdict hook.Verdict
	err     error
}

// runHooks runs the hooks of a stage. In a durable stage the hooks have a budget, and are cancelled if the call
// is cancelled or the worker stops. A hook that does not stop in time is left behind.
func (r *Runner) runHooks(ctx context.Context, in hook.StageInput, changed hook.Delta) (hook.Verdict, error) {
	if in.BudgetMs == 0 {
		return r.Hooks.Run(ctx, in, changed)
	}
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.BudgetMs)*time.Millisecond)
	defer cancel()
	go heartbeat.LeaveInTime(ctx, budget, cancel)
	stopBeating := heartbeat.Send[struct{}](ctx, nil)
	defer stopBeating()
	done := make(chan hooksResult, 1)
	go func() {
		v, err := r.Hooks.Run(budget, in, changed)
		done <- hooksResult{v, err}
	}()
	select {
	case ran := <-done:
		return resultInTime(ctx, budget, in, ran)
	case <-budget.Done():
	}
	select {
	case ran := <-done:
		return resultInTime(ctx, budget, in, ran)
	case <-time.After(heartbeat.StopTimeout):
		return resultInTime(ctx, budget, in, hooksResult{err: budget.Err()})
	}
}

// resultInTime returns the result of the hooks. If the hooks were stopped, it returns instead: a transient
// error if the worker stops, so that another worker runs the stage; the error of ctx if the call is cancelled;
// a failure if the time of the stage is over.
func resultInTime(ctx, budget context.Context, in hook.StageInput, r hooksResult) (hook.Verdict, error) {
	switch {
	case budget.Err() == nil, r.err == nil && r.verdict.Outcome != hook.Failed:
		return r.verdict, r.err
	case errors.Is(budget.Err(), context.DeadlineExceeded) && ctx.Err() == nil:
		return hook.Verdict{Outcome: hook.Failed, By: r.verdict.By, DurationUs: in.BudgetMs * 1000, Failure: &hook.Failure{
			Code:        toolspec.CodeTimeout,
			SafeMessage: fmt.Sprintf("the hooks at %s did not end in time", in.Stage),
			Details:     &toolspec.Details{Stage: string(in.Stage)},
		}}, nil
	case heartbeat.Stopping(ctx):
		return hook.Verdict{}, errs.Transient(errLeaving)
	case ctx.Err() != nil:
		return hook.Verdict{}, ctx.Err()
	}
	return r.verdict, r.err
}
