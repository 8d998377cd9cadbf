package activities

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// beat is how often a running attempt says that it lives.
	beat = 2 * time.Second
	// stopGrace is what a tool has to end by itself when its worker stops. The
	// worker waits longer than that and patience together.
	stopGrace = 5 * time.Second
)

// leaveInTime ends an attempt whose worker stops, while the worker can still
// report it: what may be repeated goes on elsewhere at once, and nobody has to
// miss a heartbeat first.
func leaveInTime(ctx, budget context.Context, cancel context.CancelFunc) {
	if !activity.IsActivity(ctx) {
		return
	}
	select {
	case <-budget.Done():
		return
	case <-activity.GetWorkerStopChannel(ctx):
	}
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-budget.Done():
	case <-timer.C:
		cancel()
	}
}

// stopping reports whether the worker ends: nobody has cancelled the call.
func stopping(ctx context.Context) bool {
	if !activity.IsActivity(ctx) {
		return false
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// beating sends heartbeats until the returned function is called. Without them
// a cancel would not reach the tool, and a lost worker would go unnoticed. The
// latest report, if there is one, goes with them.
func beating[T any](ctx context.Context, latest *atomic.Pointer[T]) (stop func()) {
	if !activity.IsActivity(ctx) || activity.GetInfo(ctx).IsLocalActivity {
		return func() {}
	}
	ticker := time.NewTicker(beat) // none at once: a short attempt needs no state transition for it
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				if p := latest.Load(); p != nil {
					activity.RecordHeartbeat(ctx, p)
				} else {
					activity.RecordHeartbeat(ctx)
				}
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(stopped)
		<-ended
	}
}
