package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// stepTimeout bounds one run of a step: one SQL statement or a few hooks.
	stepTimeout = 2 * time.Second
	// forever stands where a step has no deadline: admit and settle must hold.
	forever = 10 * 365 * 24 * time.Hour
	// heartbeatTimeout is how long a lost worker may go unnoticed; execute beats
	// every two seconds.
	heartbeatTimeout = 8 * time.Second
	// graceTimeout lets execute say itself that its budget is used up.
	graceTimeout = 5 * time.Second
	// missingDelay is the first wait for a worker that has what the plan names;
	// it doubles up to missingDelayMax.
	missingDelay    = time.Second
	missingDelayMax = 30 * time.Second
	// retryDelay is the wait before the second attempt; it doubles.
	retryDelay    = time.Second
	retryDelayMax = time.Minute
	// regateAfter is the retry delay past which the gate is asked again.
	regateAfter = time.Minute
)

// stepRetries tries a step until its deadline: 0.1 s × 8 up to 15 s.
func stepRetries() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    100 * time.Millisecond,
		BackoffCoefficient: 8,
		MaximumInterval:    15 * time.Second,
	}
}

// stepOptions retries a step until deadline. A database that is away parks the
// call on a durable timer after the first few tries.
func stepOptions(summary string, deadline time.Duration) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout:    min(stepTimeout, deadline),
		ScheduleToCloseTimeout: deadline,
		RetryPolicy:            stepRetries(),
		Summary:                summary,
	}
}

// durableOptions runs a stage with durable hooks as an activity of its own, and
// retries it as any other stage: the server makes the tries here, and one whose
// worker is lost is among them.
func durableOptions(summary string, budget, deadline time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    budget + graceTimeout,
		ScheduleToCloseTimeout: deadline,
		HeartbeatTimeout:       heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            stepRetries(),
		Summary:                summary,
	}
}

// localExecuteOptions runs one attempt inside the workflow task.
func localExecuteOptions(summary string, budget time.Duration) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: budget + 2*time.Second,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	}
}

// executeOptions runs one attempt as an activity of its own. Attempts are a loop
// in the workflow, so the server makes one.
func executeOptions(summary string, budget, deadline time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		ScheduleToStartTimeout: deadline,
		StartToCloseTimeout:    budget + graceTimeout,
		HeartbeatTimeout:       heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                summary,
	}
}
