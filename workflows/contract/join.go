package contract

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// Join waits for the result of a call, for a workflow that could not start the call because the call
// exists. It is a regular activity, which workflows of users schedule too. It gives nothing that Temporal does not
// give to everybody with access to the namespace: a client that may schedule it may also start the call.
var Join = Activity[JoinIn, toolspec.Result]{name: "joinCall", regular: true}

// JoinWait is how long one attempt of Join or AgentJoin waits for a result. It is short, because a call or a run can
// wait for a person for days, and the attempts of many joins must not take the places of tools that run.
const JoinWait = 5 * time.Second

// JoinOptions are the options of Join and AgentJoin. Attempts follow each other until there is a result, and the
// history gets no event of them.
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
	// Cancel asks the call to stop first, if it has the same input.
	Cancel bool `json:"cancel,omitempty"`
}

// ErrOpen says that the call that an activity waits for has no result yet. Temporal retries the activity.
var ErrOpen = errors.New("the call has no result yet")

// ErrBusy says that a worker has no room for more work of a tenant. Temporal runs the activity again, on any worker.
var ErrBusy = errors.New("the worker has no room for more work of this tenant")

// busyDelay is how long an activity without room waits for its next attempt.
const busyDelay = 2 * time.Second
