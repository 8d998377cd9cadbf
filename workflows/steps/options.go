package steps

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// Forever is the deadline of steps that must succeed, such as admit and settle: ten years.
	Forever = 10 * 365 * 24 * time.Hour
	// HeartbeatTimeout is the longest time until the server notices the loss of a worker.
	// execute sends a heartbeat every two seconds.
	HeartbeatTimeout = 8 * time.Second
	// graceTimeout is the time that an activity has beyond its budget, so that it can
	// still answer that its budget is used up.
	graceTimeout = 5 * time.Second
	// claimedTime is the time that an attempt in the claimed lane has to write its claim and its answer to the record.
	claimedTime = 10 * time.Second
	// MissingDelay is the first wait for a worker that has what the call needs, such as its tool and its hooks. The
	// wait doubles up to MissingDelayMax.
	MissingDelay = time.Second
	// MissingDelayMax bounds each of these waits.
	MissingDelayMax = 30 * time.Second
)

// Retries returns the retry policy of a step until its deadline: the first retry is
// after 0.1 s, and each further delay is eight times as long, up to 15 s.
func Retries() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    100 * time.Millisecond,
		BackoffCoefficient: 8,
		MaximumInterval:    15 * time.Second,
	}
}

// Options returns the options of a step, which is a local activity that is retried until
// deadline. The first retries run in the same workflow task. Before a later retry, the workflow waits for a timer in
// the history.
func Options(summary string, deadline time.Duration) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout:    min(contract.StepTimeout, deadline),
		ScheduleToCloseTimeout: deadline,
		RetryPolicy:            Retries(),
		Summary:                summary,
	}
}

// PreviewOptions is Options for a step that may make the preview of a tool.
func PreviewOptions(summary string, deadline time.Duration) workflow.LocalActivityOptions {
	options := Options(summary, deadline)
	options.StartToCloseTimeout = min(contract.RequestTimeout, deadline)
	return options
}

// DurableOptions returns the options of a stage with durable hooks, which is a regular
// activity. The server retries it with the same delays as a step, also after the loss of
// its worker.
func DurableOptions(summary string, budget, deadline time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    budget + graceTimeout,
		ScheduleToCloseTimeout: deadline,
		HeartbeatTimeout:       HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            Retries(),
		Summary:                summary,
	}
}

// LocalExecuteOptions returns the options of an attempt inside the workflow task.
func LocalExecuteOptions(summary string, budget time.Duration) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: budget + 2*time.Second,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	}
}

// ClaimedExecuteOptions returns the options of an attempt inside the workflow task that writes a
// claim. Its timeout has twice the budget, because the attempt may first wait for an earlier attempt,
// and the time to write its claim and its answer to the record.
func ClaimedExecuteOptions(summary string, budget time.Duration) workflow.LocalActivityOptions {
	options := LocalExecuteOptions(summary, 2*budget)
	options.StartToCloseTimeout += claimedTime
	return options
}

// ExecuteOptions returns the options of an attempt that is a regular activity. The
// server does not retry it, because the workflow repeats attempts itself.
func ExecuteOptions(summary string, budget, deadline time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		ScheduleToStartTimeout: deadline,
		StartToCloseTimeout:    budget + graceTimeout,
		HeartbeatTimeout:       HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                summary,
	}
}
