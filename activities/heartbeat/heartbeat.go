package heartbeat

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

// interval is how often a running activity sends a heartbeat.
const interval = 2 * time.Second

// Send sends heartbeats until the returned function is called. Without heartbeats a
// cancellation does not reach the activity, and Temporal does not notice that its worker
// is lost. If latest holds a value, each heartbeat carries that value; latest may be nil.
// Outside a regular activity Send does nothing. Call the returned function once.
func Send[T any](ctx context.Context, latest *atomic.Pointer[T]) (stop func()) {
	if !activity.IsActivity(ctx) || activity.GetInfo(ctx).IsLocalActivity {
		return func() {}
	}
	// The first heartbeat comes after one interval. Each heartbeat is a state transition in
	// Temporal, and a short activity needs no heartbeat.
	ticker := time.NewTicker(interval)
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				if p := load(latest); p != nil {
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

// load returns the value of latest, or nil if there is none. latest is nil if the
// activity reports no progress.
func load[T any](latest *atomic.Pointer[T]) *T {
	if latest == nil {
		return nil
	}
	return latest.Load()
}

// Stopping reports whether the worker of a running activity is stopping. It is false
// outside an activity.
func Stopping(ctx context.Context) bool {
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
