package activities

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

// errLeaving is why a stage is left to another worker.
var errLeaving = errors.New("the worker stops")

// ran is what the hooks of a stage left.
type ran struct {
	verdict hook.Verdict
	err     error
}

// runHooks runs the hooks of a stage. Where the stage is an activity of its own,
// they have the budget, a cancel of the call and the end of the worker reach
// them, and a hook that does not stop in time is left behind.
func (a *Activities) runHooks(ctx context.Context, in hook.StageInput, changed hook.Delta) (hook.Verdict, error) {
	if in.BudgetMs == 0 {
		return a.hooks.Run(ctx, in, changed)
	}
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.BudgetMs)*time.Millisecond)
	defer cancel()
	go leaveInTime(ctx, budget, cancel)
	stopBeating := heartbeat.Send[struct{}](ctx, nil)
	defer stopBeating()
	done := make(chan ran, 1)
	go func() {
		v, err := a.hooks.Run(budget, in, changed)
		done <- ran{v, err}
	}()
	select {
	case r := <-done:
		return broken(ctx, budget, in, r)
	case <-budget.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return broken(ctx, budget, in, r)
	case <-timer.C:
		return broken(ctx, budget, in, ran{err: budget.Err()})
	}
}

// broken replaces what hooks say only because they were stopped: a cancelled
// call is cancelled, a worker that stops leaves the stage to another one, and a
// stage that used up its time says so.
func broken(ctx, budget context.Context, in hook.StageInput, r ran) (hook.Verdict, error) {
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
