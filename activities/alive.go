package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// stopGrace is what a tool has to end by itself when its worker stops. The worker
// waits longer than that and patience together.
const stopGrace = 5 * time.Second

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
