package worker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// retryEvery is the pause between two tries while a server does not answer.
	retryEvery = 2 * time.Second
	// stepTimeout bounds one try, because a connection may die without an error.
	stepTimeout = 30 * time.Second
)

// withDatabase repeats a step of the start while the database does not answer. The step must be
// safe to repeat.
func withDatabase(ctx context.Context, c Config, step func(context.Context) error) error {
	for {
		err := within(ctx, step)
		if err == nil || !errs.IsTransient(err) {
			return err
		}
		c.Log.WarnContext(ctx, "the database is not there; trying again", "reason", errs.Reason(err), "in", retryEvery.String())
		if !sleep(ctx, retryEvery) {
			return fmt.Errorf("stopped while waiting for the database (%s): %w", errs.Reason(err), ctx.Err())
		}
	}
}

// withTemporal repeats a step of the start while Temporal does not answer. The step must be safe
// to repeat.
func withTemporal(ctx context.Context, c Config, step func(context.Context) error) error {
	address := cmp.Or(c.Temporal.HostPort, client.DefaultHostPort)
	for {
		err := within(ctx, step)
		if err == nil || ctx.Err() == nil && !away(err) {
			return err
		}
		c.Log.WarnContext(ctx, "Temporal is not there; trying again", "address", address,
			"reason", serviceerror.ToStatus(err).Code().String(), "in", retryEvery.String())
		if !sleep(ctx, retryEvery) {
			return fmt.Errorf("stopped while waiting for Temporal at %s: %w", address, ctx.Err())
		}
	}
}

func within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return step(ctx)
}

// away reports whether an error says that Temporal does not answer or is busy, and not that it has
// refused the request.
func away(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// sleep waits, and reports whether ctx is still live.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
