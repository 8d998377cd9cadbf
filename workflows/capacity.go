package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// runWaiting runs a stage, and where it waits for capacity runs it again until it
// has what it is for, or the wait is over. Between two runs the gate judges the
// call anew: a slot that was handed over is used only by a call that may still
// run.
func (c *call) runWaiting(ctx workflow.Context, step hook.Step) (hook.Verdict, *ending) {
	began := workflow.Now(ctx)
	for {
		asked := workflow.Now(ctx)
		v := c.runStage(ctx, step, c.roundOf(step.Phase))
		var end *ending
		switch v.Outcome {
		case hook.Superseded:
			end = c.supersede(ctx)
		case hook.Waited:
			if v.Wait.GoOn && c.patience(ctx, *v.Wait, began) <= time.Millisecond {
				c.rested(ctx)
				v.Outcome, v.Wait = hook.Continue, nil
				return v, nil
			}
			end = c.rest(ctx, *v.Wait, began)
		default:
			c.rested(ctx)
			if step.Stage == hook.WillAcquireSemaphore.Stage() && slices.Contains(c.needs, step.Stage) {
				c.leasedAt = asked
			}
			return v, nil
		}
		if end != nil {
			c.rested(ctx)
			return v, end
		}
	}
}

// rest holds until somebody says that there may be capacity, until a timer or the
// end of the wait. It returns an ending where there is no next look, and else
// has asked the gate.
func (c *call) rest(ctx workflow.Context, w hook.Wait, began time.Time) *ending {
	left := c.patience(ctx, w, began)
	if left <= time.Millisecond {
		end := failed(&hook.Failure{Code: w.Code, SafeMessage: w.Reason, RetryAfterMs: w.RetryAfterMs})
		return &end
	}
	c.awaits = w.Reason
	if c.status != toolspec.StatusWaitingCapacity {
		c.setStatus(ctx, toolspec.StatusWaitingCapacity)
	} else {
		workflow.SetCurrentDetails(ctx, c.details())
	}
	delay := min(max(time.Duration(w.RetryMs)*time.Millisecond, shortestRest), left)
	if err := c.inbox.rest(ctx, delay, "look again for capacity"); err != nil || ctx.Err() != nil {
		end := failed(&hook.Failure{Code: toolspec.CodeCancelled})
		return &end
	}
	c.rounds.Capacity++
	if _, end := c.review(ctx, RequestOut{View: &toolspec.ApprovalView{}}, nil); end != nil {
		return end
	}
	return c.gateAgain(ctx, nil)
}

// rested takes the call back from a wait.
func (c *call) rested(ctx workflow.Context) {
	if c.awaits = ""; c.status == toolspec.StatusWaitingCapacity {
		c.setStatus(ctx, toolspec.StatusRunning)
	}
}

// leaseAgain follows an attempt that found a place expired: somebody else may run
// on it. The gate judges the call anew, and it queues once more.
func (c *call) leaseAgain(ctx workflow.Context) *ending {
	step, ok := c.plan.Step(hook.WillAcquireSemaphore.Stage())
	if !ok {
		end := failedWith(toolspec.CodeInternal, "")
		return &end
	}
	if f := c.waitForWorker(ctx, &c.unleased, "places expire faster than the call can use them"); f != nil {
		end := failed(f)
		return &end
	}
	c.rounds.Capacity++
	if _, end := c.review(ctx, RequestOut{View: &toolspec.ApprovalView{}}, nil); end != nil {
		return end
	}
	if end := c.gateAgain(ctx, nil); end != nil {
		return end
	}
	v, end := c.runWaiting(ctx, step)
	if end != nil {
		return end
	}
	return c.over(ctx, v, step.Stage)
}

// acquireAgain takes the capacity that a call gave back when it was parked.
func (c *call) acquireAgain(ctx workflow.Context) *ending {
	c.rounds.Capacity++
	for _, step := range c.plan.Pre {
		if step.Phase != hook.PhaseCapacity || !slices.Contains(c.needs, step.Stage) {
			continue
		}
		v, end := c.runWaiting(ctx, step)
		if end == nil {
			end = c.over(ctx, v, step.Stage)
		}
		if end != nil {
			return end
		}
	}
	return nil
}

// patience is how long a wait that began then may still last. One that the call
// can do without takes half of the time that there was, so that the tool has the
// other half.
func (c *call) patience(ctx workflow.Context, w hook.Wait, began time.Time) time.Duration {
	passed := workflow.Now(ctx).Sub(began)
	left := c.remaining(ctx) - lastLook
	if w.GoOn {
		left = (c.remaining(ctx)+passed)/2 - passed
	}
	if w.DeadlineMs > 0 {
		left = min(left, time.Duration(w.DeadlineMs)*time.Millisecond-passed)
	}
	return left
}

const (
	// shortestRest keeps a wait without a time from becoming a busy loop.
	shortestRest = 100 * time.Millisecond
	// lastLook is what a wait leaves of the call's deadline, for a last look.
	lastLook = 2 * time.Second
)
