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

// errLeaving is why a worker that stops leaves a stage to another worker.
var errLeaving = errors.New("the worker stops")

// left is the result of the hooks of a stage.
type left struct {
	verdict hook.Verdict
	err     error
}

// runHooks runs the hooks of a stage. In a durable stage they have a budget, they are
// cancelled when the call is cancelled or the worker stops, and a hook that does not stop in
// time is left behind.
func (r *Runner) runHooks(ctx context.Context, in hook.StageInput, changed hook.Delta) (hook.Verdict, error) {
	if in.BudgetMs == 0 {
		return r.Hooks.Run(ctx, in, changed)
	}
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.BudgetMs)*time.Millisecond)
	defer cancel()
	go heartbeat.LeaveInTime(ctx, budget, cancel)
	stopBeating := heartbeat.Send[struct{}](ctx, nil)
	defer stopBeating()
	done := make(chan left, 1)
	go func() {
		v, err := r.Hooks.Run(budget, in, changed)
		done <- left{v, err}
	}()
	select {
	case ran := <-done:
		return ended(ctx, budget, in, ran)
	case <-budget.Done():
	}
	timer := time.NewTimer(heartbeat.StopTimeout)
	defer timer.Stop()
	select {
	case ran := <-done:
		return ended(ctx, budget, in, ran)
	case <-timer.C:
		return ended(ctx, budget, in, left{err: budget.Err()})
	}
}

// ended returns what the hooks left, unless they left it because they were stopped: a
// cancelled call is cancelled, a worker that stops leaves the stage to another worker, and a
// stage whose time is over says so.
func ended(ctx, budget context.Context, in hook.StageInput, l left) (hook.Verdict, error) {
	switch {
	case budget.Err() == nil, l.err == nil && l.verdict.Outcome != hook.Failed:
		return l.verdict, l.err
	case errors.Is(budget.Err(), context.DeadlineExceeded) && ctx.Err() == nil:
		return hook.Verdict{Outcome: hook.Failed, By: l.verdict.By, DurationUs: in.BudgetMs * 1000, Failure: &hook.Failure{
			Code:        toolspec.CodeTimeout,
			SafeMessage: fmt.Sprintf("the hooks at %s did not end in time", in.Stage),
			Details:     &toolspec.Details{Stage: string(in.Stage)},
		}}, nil
	case heartbeat.Stopping(ctx):
		return hook.Verdict{}, errs.Transient(errLeaving)
	case ctx.Err() != nil:
		return hook.Verdict{}, ctx.Err()
	}
	return l.verdict, l.err
}
