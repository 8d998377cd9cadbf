package worker

import (
	"context"
	"errors"
	"log/slog"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/activities/join"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows/contract"
)

// joinable implements join.Calls with the calls of the worker's namespace.
type joinable struct{ calls *pawl.Client }

var _ join.Calls = joinable{}

func joiner(temporal client.Client, log *slog.Logger) *join.Joiner {
	return join.New(joinable{pawl.New(temporal, pawl.Options{})}, log)
}

// Join implements join.Calls.
func (j joinable) Join(ctx context.Context, inv toolspec.Invocation) (toolspec.Result, error) {
	result, err := j.calls.Invoke(ctx, inv)
	var ended *pawl.CallError
	switch {
	case errors.As(err, &ended):
		return ended.Result, nil
	case errors.Is(err, pawl.ErrNoAnswer):
		return toolspec.Result{}, contract.ErrOpen
	case err != nil:
		return toolspec.Result{}, errs.Transient(unanswered(statusOf(err)))
	}
	return result, nil
}

// Cancel implements join.Calls. It returns contract.ErrOpen for a call whose input is not known yet, because
// no worker has admitted it. Temporal then retries the activity.
func (j joinable) Cancel(ctx context.Context, inv toolspec.Invocation) error {
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		return err
	}
	id := inv.Identity().WorkflowID()
	state, err := j.calls.State(ctx, id)
	switch {
	case err == nil && state.InputDigest == "" && state.Status != toolspec.StatusSettled:
		return contract.ErrOpen
	case err == nil && state.InputDigest == digest:
		err = j.calls.Cancel(ctx, id)
	}
	if errors.Is(err, pawl.ErrSettled) || errors.Is(err, pawl.ErrNotFound) {
		return nil
	}
	if err != nil {
		return errs.Transient(unanswered(statusOf(err)))
	}
	return nil
}

// statusOf returns the gRPC code of an error of Temporal, which is safe for logs, or a word for another error.
func statusOf(err error) string {
	var answered serviceerror.ServiceError
	if errors.As(err, &answered) {
		return answered.Status().Code().String()
	}
	return "another error"
}
