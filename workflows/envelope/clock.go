package envelope

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// clock measures the time until the deadline of the call.
type clock struct {
	// runStartedAt is the start of this Temporal run.
	runStartedAt time.Time
	// callStartedAt is the time from which the deadline counts: the start of the first Temporal run if the call has
	// moved to this task queue, otherwise runStartedAt.
	callStartedAt time.Time
	// waited is the time that the deadline does not count, such as the time in which the call waited for a person.
	waited time.Duration
	// pausedAt is the time at which the current wait of that kind began.
	pausedAt time.Time
}

// StartedAt returns the time at which the call began, also if it has moved since then.
func (c *Call) StartedAt() time.Time { return c.callStartedAt }

// Remaining returns the time until the deadline. It is at least 1 ms, so that a step can
// still report that the deadline is over.
func (c *Call) Remaining(ctx workflow.Context) time.Duration {
	deadline := time.Duration(c.budgets.DeadlineMs) * time.Millisecond
	return max(deadline-(workflow.Now(ctx).Sub(c.callStartedAt)-c.waited), time.Millisecond)
}

// PauseDeadline stops the clock while the call waits, for example for a person.
func (c *Call) PauseDeadline(ctx workflow.Context) { c.pausedAt = workflow.Now(ctx) }

// ResumeDeadline starts the clock again.
func (c *Call) ResumeDeadline(ctx workflow.Context) { c.waited += workflow.Now(ctx).Sub(c.pausedAt) }

// RestartDeadline gives the call its whole deadline again, from now.
func (c *Call) RestartDeadline(ctx workflow.Context) {
	c.waited = workflow.Now(ctx).Sub(c.callStartedAt)
}

// RestartDeadlineWith gives the call a new deadline of d, from now.
func (c *Call) RestartDeadlineWith(ctx workflow.Context, d time.Duration) {
	c.RestartDeadline(ctx)
	c.budgets.DeadlineMs = d.Milliseconds()
}
