package join

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Calls returns the results of calls, and starts the calls that nobody has started.
type Calls interface {
	// Join returns the result of a call. If nobody has started the call, Join starts it. If another input has used
	// the id of the call, the result is conflict. The error is contract.ErrOpen if the call has no result when ctx
	// ends.
	Join(ctx context.Context, inv toolspec.Invocation) (toolspec.Result, error)
	// Cancel asks an open call to stop, if the call has this input. It returns nil for a settled call.
	Cancel(ctx context.Context, inv toolspec.Invocation) error
}

// Joiner has the activity that waits for calls.
type Joiner struct {
	calls Calls
	log   *slog.Logger
}

// New returns a joiner.
func New(calls Calls, log *slog.Logger) *Joiner { return &Joiner{calls: calls, log: log} }

// Register binds the activity.
func (j *Joiner) Register(r contract.Registry) { contract.Bind(r, contract.Join, j.log, j.Join) }

// Join returns the result of a call. It waits at most contract.JoinWait, and then returns contract.ErrOpen.
func (j *Joiner) Join(ctx context.Context, in contract.JoinIn) (toolspec.Result, error) {
	if in.Cancel {
		if err := j.calls.Cancel(ctx, in.Invocation); err != nil {
			return toolspec.Result{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, contract.JoinWait)
	defer cancel()
	return j.calls.Join(ctx, in.Invocation)
}
