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

// The SDK sends a request again and again, with growing and jittered pauses, for
// up to ten seconds or half of what is left of the caller's deadline. This is
// the pause between two such rounds, ± a quarter.
const nextRoundAfter = time.Second

// ErrNoAnswer says that ctx ended before Temporal answered. The call may be running. Start it again
// with the same tenantId, runId and toolCallId: that attaches to the running call, and nothing runs
// twice.
var ErrNoAnswer = errors.New("no answer before the caller's time was over; the call may be running: start it again with the same tenantId, runId and toolCallId")

// persist repeats f, which must be safe to repeat, for as long as Temporal is
// away and ctx lasts. Other errors are answers.
func persist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && !away(err) {
			return err
		}
		if pause(ctx, jittered(nextRoundAfter)) != nil {
			return fmt.Errorf("%w: %w (%s)", ErrNoAnswer, context.Cause(ctx), serviceerror.ToStatus(err).Code())
		}
	}
}

// away reports whether an error says that the server does not answer or is busy, not that it
// refused.
func away(err error) bool {
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

// pause waits for d, or less where ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
