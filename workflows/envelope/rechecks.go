package envelope

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// rechecks counts the pending rechecks. A recheck is a signal that policy, a grant or
// capacity has changed.
type rechecks struct{ requests int }

// RequestRecheck adds a pending recheck.
func (c *Call) RequestRecheck() { c.requests++ }

// HasRecheck reports whether a recheck is pending.
func (c *Call) HasRecheck() bool { return c.requests > 0 }

// TakeRecheck reports whether a recheck is pending, and clears all pending rechecks. The
// caller then does the recheck.
func (c *Call) TakeRecheck() bool {
	wanted := c.requests > 0
	c.requests = 0
	return wanted
}

// changeRecheck is the id for workflow.GetVersion of this change: if a recheck arrives while a call runs, the gate judges
// the call before its next attempt, and during the pause between two attempts. In a call with an older history, the
// recheck stays pending until the call next waits for a person or for capacity.
const changeRecheck = "recheck-running"

// RecheckPending reports whether a recheck is pending that a running call must do now. It is false for a call whose
// history is older than changeRecheck.
func (c *Call) RecheckPending(ctx workflow.Context) bool {
	return c.requests > 0 && workflow.GetVersion(ctx, changeRecheck, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// AwaitRecheck waits until a recheck is pending or d has passed, and clears all pending
// rechecks. A recheck from before the wait ends it at once. A negative d counts as 0. The
// UI shows summary beside the timer. The error reports that ctx is cancelled.
func (c *Call) AwaitRecheck(ctx workflow.Context, d time.Duration, summary string) error {
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timerCtx, max(d, 0), workflow.TimerOptions{Summary: summary})
	err := workflow.Await(ctx, func() bool { return c.requests > 0 || timer.IsReady() })
	c.requests = 0
	return err
}
