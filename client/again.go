package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
)

// nextRoundAfter is the pause of persist between two tries of a request, ± a quarter. In each try the SDK already
// repeats the request with growing pauses, for up to ten seconds or half of the time until the caller's deadline.
const nextRoundAfter = time.Second

// ErrNoAnswer says that ctx ended before Temporal answered. The call or run of an agent may be going on. Start it
// again with the same ids: that attaches to it, and nothing runs twice.
var ErrNoAnswer = errors.New("no answer before the caller's time was over; the call or run may be going on: start it again with the same ids")

// persist calls f until Temporal answers or ctx ends; then the error wraps ErrNoAnswer. f must be safe to repeat.
// An error that says that Temporal has refused the request is an answer too: persist returns it.
func persist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && !isUnavailable(err) {
			return err
		}
		if pause(ctx, jittered(nextRoundAfter)) != nil {
			return fmt.Errorf("%w: %w (%s)", ErrNoAnswer, context.Cause(ctx), serviceerror.ToStatus(err).Code())
		}
	}
}

// isUnavailable reports whether an error says that the server does not answer or is busy, so that the request may
// succeed later. It is false for a request that the server has refused.
func isUnavailable(err error) bool {
	switch status := serviceerror.ToStatus(err); status.Code() {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded:
		return true
	case codes.ResourceExhausted:
		// A message that is too large stays too large.
		return !strings.Contains(status.Message(), "larger than max")
	default:
		return false
	}
}

func jittered(d time.Duration) time.Duration {
	return d - d/4 + rand.N(d/2)
}

// pause waits for d. It returns the error of ctx if ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
