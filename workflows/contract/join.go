package contract

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// Join waits for the result of a call, for a workflow that could not start the call because the call
// exists. It is a regular activity, which workflows of users schedule too. Join gives no client more rights: a
// client that may schedule an activity in the namespace may also start the call there.
var Join = Activity[JoinIn, toolspec.Result]{name: "joinCall", regular: true}

// JoinWait is how long one attempt of Join or AgentJoin waits for a result. It is short, because a call or a run can
// wait for a person for days. The waiting attempts must not use up the activities that a worker runs at the same time.
const JoinWait = 5 * time.Second

// JoinOptions returns the options of Join and AgentJoin. Temporal repeats the activity until there is a result, and
// writes no event for the repetitions.
func JoinOptions(workflowID string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		WaitForCancellation: true,
		Summary:             "wait for " + workflowID,
	}
}

// JoinIn is the input of Join.
type JoinIn struct {
	Invocation toolspec.Invocation `json:"invocation"`
	// Cancel says that Join first asks the call to stop, if the call has the same input.
	Cancel bool `json:"cancel,omitempty"`
}

// ErrOpen says that the call or the run of an agent for which an activity waits has no result yet. Temporal retries
// the activity.
var ErrOpen = errors.New("the call has no result yet")

// ErrBusy says that a worker has no room for more work of a tenant. Temporal runs the activity again, on any worker.
var ErrBusy = errors.New("the worker has no room for more work of this tenant")

// busyDelay is how long an activity without room waits for its next attempt.
const busyDelay = 2 * time.Second
