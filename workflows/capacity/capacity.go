package capacity

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// shortestRest is the least delay between two tries. Without it, a wait that names no
	// delay would be a busy loop.
	shortestRest = 100 * time.Millisecond
	// lastLook is how long before the call's deadline a wait ends, so that the call has time to try once more.
	lastLook = 2 * time.Second
)

// Capacity runs the stages at which one call acquires capacity, and waits for it.
type Capacity struct {
	call *envelope.Call
	// judge reads the gate state again and asks the gate. It runs after each wait, because
	// a call that may no longer run must not use capacity that it got during the wait.
	judge func(workflow.Context) envelope.Next
	// leasedAt is the time at which the call last asked for slots at semaphores; zero if it has no slots.
	leasedAt time.Time
	// expiredDelay is the delay before the call asks again for a slot that expired.
	expiredDelay time.Duration
}

// New returns the Capacity of a call that holds no capacity yet.
func New(c *envelope.Call, judge func(workflow.Context) envelope.Next) *Capacity {
	return &Capacity{call: c, judge: judge, expiredDelay: steps.MissingDelay}
}

// LeasedAt returns the time at which the call last asked for slots at semaphores; zero if
// it needed no slot.
func (k *Capacity) LeasedAt() time.Time { return k.leasedAt }

// Run runs a stage. While the stage lacks capacity, Run waits and runs it again, until
// the stage has the capacity or the time for the wait is over. If the call ends, the returned Next says how, and the
// verdict does not count.
func (k *Capacity) Run(ctx workflow.Context, step hook.Step) (hook.Verdict, envelope.Next) {
	c := k.call
	began := workflow.Now(ctx)
	for {
		asked := workflow.Now(ctx)
		v := c.RunStage(ctx, step, roundOf(step.Phase, c.Rounds()))
		var next envelope.Next
		switch v.Outcome {
		case hook.Superseded:
			next = c.HandleSuperseded(ctx)
		case hook.Waited:
			// The call can run without the capacity, and the time for the wait is over.
			if v.Wait.GoOn && k.remainingWait(ctx, *v.Wait, began) <= time.Millisecond {
				c.LeaveWait(ctx)
				v.Outcome, v.Wait = hook.Continue, nil
				return v, next
			}
			next = k.wait(ctx, *v.Wait, began)
		default:
			c.LeaveWait(ctx)
			// The call now has slots, and slots expire. The statement that writes a claim checks them. An attempt
			// in the local lane writes no claim, so leasedAt makes its worker check how old the slots are.
			if step.Stage == hook.WillAcquireSemaphore.Stage() && slices.Contains(c.Needs(), step.Stage) {
				k.leasedAt = asked
			}
			return v, next
		}
		if next.IsEnd() {
			c.LeaveWait(ctx)
			return v, next
		}
	}
}

// changeGivesBack is the id for workflow.GetVersion of this change: a call that asks a person
// after it has acquired slots gives its capacity back for the time of the wait.
const changeGivesBack = "give-back-while-asking"

// GivesBack reports whether the call gives its capacity back while it waits for a person. After the
// wait, the caller must call Acquire for such a call.
func (k *Capacity) GivesBack(ctx workflow.Context) bool {
	return !k.leasedAt.IsZero() && workflow.GetVersion(ctx, changeGivesBack, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// Acquire acquires capacity again after a wait for a person, during which the call held none.
func (k *Capacity) Acquire(ctx workflow.Context) envelope.Next {
	k.leasedAt = time.Time{}
	// The record stores capacity by the round in which it was acquired. Without a new round, the record would take
	// the stages for retries of their earlier runs, whose capacity is released.
	k.call.NextCapacity()
	// Only a stage that the gate requires, such as willAcquireQuota for a tool with a quota, acquires capacity that
	// policy limits.
	for _, step := range k.call.Plan().Pre {
		if step.Phase != hook.PhaseCapacity || !slices.Contains(k.call.Needs(), step.Stage) {
			continue
		}
		if next := k.runAndContinue(ctx, step); next.IsEnd() {
			return next
		}
	}
	return envelope.Next{}
}

// Reacquire acquires a slot again after an attempt found that the slot of the call had
// expired. Another call may have that slot now, so the call waits in the queue again. The
// gate judges the call before that. Reacquire first waits for expiredDelay, which doubles
// each time, so that a call whose slots expire at once does not repeat this in a busy
// loop.
func (k *Capacity) Reacquire(ctx workflow.Context) envelope.Next {
	step, ok := k.call.Plan().Step(hook.WillAcquireSemaphore.Stage())
	// Without this stage the call never had a slot, so no slot can have expired.
	if !ok {
		return envelope.FailWith(toolspec.CodeInternal, "")
	}
	if f := k.call.WaitForWorker(ctx, &k.expiredDelay, "places expire faster than the call can use them"); f != nil {
		return envelope.Fail(f)
	}
	k.call.NextCapacity()
	if next := k.judge(ctx); next.IsEnd() {
		return next
	}
	return k.runAndContinue(ctx, step)
}

// runAndContinue runs a stage as Run does and returns whether the call continues after the
// stage. The call ends if a hook of the stage answers, aborts or fails.
func (k *Capacity) runAndContinue(ctx workflow.Context, step hook.Step) envelope.Next {
	v, next := k.Run(ctx, step)
	if next.IsEnd() {
		return next
	}
	return k.call.NextAfter(ctx, v, step.Stage)
}

// wait waits for capacity until a recheck arrives, the retry delay of w has passed, or the time for the wait is over.
// It then asks the gate again. It returns how the call ends, for example because no time is left to wait, or the
// zero Next if the stage may try again. began is the time at which the whole wait began.
func (k *Capacity) wait(ctx workflow.Context, w hook.Wait, began time.Time) envelope.Next {
	c := k.call
	left := k.remainingWait(ctx, w, began)
	if left <= time.Millisecond {
		return envelope.Fail(&hook.Failure{Code: w.Code, SafeMessage: w.Reason, RetryAfterMs: w.RetryAfterMs})
	}
	c.EnterWait(ctx, w.Reason, fmt.Sprintf("**Waiting for capacity** of `%s`: %s.", c.Admitted().ToolID, envelope.PlainText(w.Reason)))
	delay := min(max(time.Duration(w.RetryMs)*time.Millisecond, shortestRest), left)
	if err := c.AwaitRecheck(ctx, delay, "look again for capacity"); err != nil || ctx.Err() != nil {
		return envelope.Fail(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	c.NextCapacity()
	return k.judge(ctx)
}

// remainingWait returns how long a wait that started at began may still last. If the call
// can continue without the capacity, the whole wait takes at most half of the time that
// was left at its start, so that the tool has the rest.
func (k *Capacity) remainingWait(ctx workflow.Context, w hook.Wait, began time.Time) time.Duration {
	waited := workflow.Now(ctx).Sub(began)
	left := k.call.Remaining(ctx) - lastLook
	if w.GoOn {
		left = (k.call.Remaining(ctx)+waited)/2 - waited
	}
	if w.DeadlineMs > 0 {
		left = min(left, time.Duration(w.DeadlineMs)*time.Millisecond-waited)
	}
	return left
}

// roundOf returns the round of a stage of phase p. The gate stages have one counter, and
// the stages at which a call may wait have another. All other stages run once.
func roundOf(p hook.Phase, r contract.Rounds) int {
	switch p {
	case hook.PhaseGate, hook.PhaseConsent:
		return r.Gate
	case hook.PhaseCapacity, hook.PhaseSecrets, hook.PhaseCache:
		return r.Capacity
	default:
		return 1
	}
}
