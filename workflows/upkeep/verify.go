package upkeep

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// VerifyType is the type of the workflow that searches histories for secrets. A Temporal Schedule starts it
	// repeatedly if a worker is configured to verify histories.
	VerifyType = "VerifyHistory"
	// VerifyID is the id of the schedule.
	VerifyID = "pawl-verify"
	// SecretsFound is the type of the error with which the workflow fails if it found a secret.
	SecretsFound = "SecretsFound"
)

const (
	// verifyFirst is how far back a run of VerifyHistory searches while none of its earlier runs has succeeded.
	verifyFirst = 24 * time.Hour
	// verifyMost is the longest range of any run. The range grows after each failed run,
	// because the next run searches the same histories again. Without verifyMost, the range
	// could grow until no run completes within the timeout of the activity.
	verifyMost = 7 * 24 * time.Hour
	// verifyOverlap is the time range that two successive runs both search. Temporal's
	// visibility store lists a closed workflow with a delay, so the first of two runs may
	// not see a workflow that closed at the end of its range.
	verifyOverlap = 2 * time.Minute
)

// VerifyHistory searches the histories of closed workflows for every secret that Pawl holds now. It searches the
// workflows that closed since the last successful run of VerifyHistory, but none that closed more than verifyMost
// ago. It fails with SecretsFound if a history holds a secret, so that operators notice.
func VerifyHistory(ctx workflow.Context) (contract.VerifyClosedOut, error) {
	until := workflow.Now(ctx)
	since := until.Add(-verifyFirst)
	if workflow.HasLastCompletionResult(ctx) {
		var last contract.VerifyClosedOut
		// Ignore a last result whose UntilMs is in the future: no search can have reached
		// that time.
		if err := workflow.GetLastCompletionResult(ctx, &last); err == nil && last.UntilMs > 0 && last.UntilMs <= until.UnixMilli() {
			since = time.UnixMilli(last.UntilMs).Add(-verifyOverlap)
		}
	}
	if most := until.Add(-verifyMost); since.Before(most) {
		since = most
	}
	in := contract.VerifyClosedIn{SinceMs: since.UnixMilli(), UntilMs: until.UnixMilli()}
	out, err := steps.Regular(ctx, contract.VerifyClosed, in, workflow.ActivityOptions{
		StartToCloseTimeout:    time.Hour,
		ScheduleToCloseTimeout: 2 * time.Hour,
		HeartbeatTimeout:       steps.HeartbeatTimeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
		Summary:                "search closed histories for secrets",
	})
	if err != nil {
		return out, err
	}
	// The next run continues from UntilMs. The workflow sets both times itself, because anybody
	// with access to the namespace can complete the activity with other times.
	out.SinceMs, out.UntilMs = in.SinceMs, in.UntilMs
	if out.Findings > 0 {
		return out, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("secrets stand in %d places; the worker's log names them", out.Findings), SecretsFound, nil, out)
	}
	return out, nil
}
