package attempt

import (
	"context"
	"runtime"
	"time"

	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// busyDelay is how long a call that found no free processor waits before it tries again.
	busyDelay = 5 * time.Second
	// laneWait is how long a call waits for room in the lane. While it waits, it counts as one of the concurrent
	// local activities of the worker, so laneWait is short. A fast tool takes milliseconds.
	laneWait = 100 * time.Millisecond
)

// processors bounds how many heavy tools run at the same time: the number of processors of the
// machine minus one. The last processor is for the steps of all other calls.
type processors chan struct{}

func newProcessors() processors { return make(processors, max(1, runtime.GOMAXPROCS(0)-1)) }

// acquire waits up to maxWait for a processor. Waiting calls are served in turn. The error is
// a toolspec.BusyError or the error of ctx.
func (p processors) acquire(ctx context.Context, maxWait time.Duration) (release func(), err error) {
	select {
	case p <- struct{}{}:
		return func() { <-p }, nil
	case <-time.After(maxWait):
		return nil, toolspec.RetryAfter(busyDelay, "the worker is busy with other calls that need much of a processor: try again later, with fewer at once")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lane bounds how many tools of one tenant run at the same time inside workflow tasks, in the local and the
// claimed lane together. These tools are local activities, as are the other steps of all calls. A worker runs a
// bounded number of local activities, and the tools of one tenant must not take up all of them.
type lane struct {
	// most is the bound; 0 sets no bound.
	most int
	room room.Room
}

// enter waits up to laneWait for room. ok is false if there is no room; otherwise leave must be
// called once.
func (l *lane) enter(ctx context.Context, tenantID string) (leave func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, laneWait)
	defer cancel()
	leave, err := l.room.Enter(ctx, room.Bound{Key: tenantID, Most: l.most})
	return leave, err == nil
}
