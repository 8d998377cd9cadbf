package heartbeat

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// StopTimeout is how long code of a user may take to stop after its context has ended. After that time the
	// activity answers without waiting for this code.
	StopTimeout = time.Second
	// stopGrace is how long code of a user may still run after its worker begins to stop. The worker waits longer
	// than stopGrace and StopTimeout together.
	stopGrace = 5 * time.Second
)

// LeaveInTime calls cancel when the worker of the activity stops, after a grace of five seconds. The worker can
// then still report how the activity ended. If the activity may be repeated, another worker repeats it at once;
// without the report, Temporal would first have to miss a heartbeat. LeaveInTime blocks until budget ends
// or it has called cancel. Outside an activity it does nothing.
func LeaveInTime(ctx, budget context.Context, cancel context.CancelFunc) {
	if !activity.IsActivity(ctx) {
		return
	}
	select {
	case <-budget.Done():
		return
	case <-activity.GetWorkerStopChannel(ctx):
	}
	select {
	case <-budget.Done():
	case <-time.After(stopGrace):
		cancel()
	}
}
