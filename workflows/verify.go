package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// VerifyClosed is the activity of the workflow VerifyHistory.
var VerifyClosed = Activity[VerifyClosedIn, VerifyClosedOut]{nameVerifyClosed}

// VerifyType is the workflow that a Temporal Schedule starts where a worker is
// told to verify, and VerifyID names the schedule. SecretsFound is the type of the
// failure by which the workflow ends where it finds one.
const (
	VerifyType   = "VerifyHistory"
	VerifyID     = "pawl-verify"
	SecretsFound = "SecretsFound"

	nameVerifyClosed = "verifyClosed"
)

const (
	// verifyFirst is how far the first run looks back, and verifyMost how far any
	// does: a run that fails leaves what it looked at to the next.
	verifyFirst = 24 * time.Hour
	verifyMost  = 7 * 24 * time.Hour
	// verifyOverlap is looked at twice: visibility learns late of what has closed.
	verifyOverlap = 2 * time.Minute
)

// VerifyClosedIn asks for the workflows of a namespace that closed in a time, in
// milliseconds of the Unix epoch.
type VerifyClosedIn struct {
	Namespace string `json:"namespace"`
	SinceMs   int64  `json:"sinceMs"`
	UntilMs   int64  `json:"untilMs"`
}

// VerifyClosedOut counts what was searched and found; the worker's log says where.
type VerifyClosedOut struct {
	SinceMs int64 `json:"sinceMs"`
	UntilMs int64 `json:"untilMs"`
	// Secrets is how many were looked for. TooPlain cannot be told from other text.
	Secrets   int `json:"secrets"`
	TooPlain  int `json:"tooPlain,omitempty"`
	Workflows int `json:"workflows"`
	Events    int `json:"events"`
	Findings  int `json:"findings"`
	// Unread counts payloads that did not decode.
	Unread int `json:"unread,omitempty"`
}

// VerifyHistory searches the histories that closed since the last run that found
// nothing for every secret that is alive. It fails where one stands in one: that
// is to be seen.
func VerifyHistory(ctx workflow.Context) (VerifyClosedOut, error) {
	until := workflow.Now(ctx)
	since := until.Add(-verifyFirst)
	if workflow.HasLastCompletionResult(ctx) {
		var last VerifyClosedOut
		if err := workflow.GetLastCompletionResult(ctx, &last); err == nil && last.UntilMs > 0 {
			since = time.UnixMilli(last.UntilMs).Add(-verifyOverlap)
		}
	}
	if most := until.Add(-verifyMost); since.Before(most) {
		since = most
	}
	in := VerifyClosedIn{Namespace: workflow.GetInfo(ctx).Namespace, SinceMs: since.UnixMilli(), UntilMs: until.UnixMilli()}
	out, err := regular(ctx, VerifyClosed, in, workflow.ActivityOptions{
		StartToCloseTimeout:    time.Hour,
		ScheduleToCloseTimeout: 2 * time.Hour,
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
		Summary:                "search closed histories for secrets",
	})
	if err != nil {
		return out, err
	}
	if out.Findings > 0 {
		return out, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("secrets stand in %d places; the worker's log names them", out.Findings), SecretsFound, nil, out)
	}
	return out, nil
}
