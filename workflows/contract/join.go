package contract

import (
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Join waits for the result of a call, for a workflow that could not start the call because it exists. It is a
// regular activity of workflows that are not Pawl's own too. It gives nothing that Temporal does not give to
// everybody with access to the namespace: who may schedule it may also start the call.
var Join = Activity[JoinIn, toolspec.Result]{name: "joinCall", regular: true}

// JoinTimeout bounds one attempt of Join.
const JoinTimeout = 30 * time.Second

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
