package worker

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
)

const (
	// scheduleTimeout bounds what a start waits for the schedule.
	scheduleTimeout = 10 * time.Second
	// sweepTimeout ends a sweep that no worker carries on; the schedule starts no
	// other while it runs.
	sweepTimeout = time.Hour
	// sweepCatchup is how late a sweep still starts, the shortest there is: one
	// that was missed is made good by the next.
	sweepCatchup = 10 * time.Second
	// unswept is what a worker says that may not make the schedule.
	unswept = "the schedule " + workflows.SweepID + " could not be made, so calls whose workflow was terminated or timed out stay open " +
		"and nothing is deleted; have it created (docs/operations.md), or set PAWL_SWEEP_EVERY=off where another worker sweeps"
)

// needSchedule makes the schedule of the sweeper, or brings its interval up to
// date; what people changed of it besides, such as a pause, stays. Calls do not
// need it, so a worker that may not make one runs all the same.
func needSchedule(ctx context.Context, c Config, t client.Client) {
	if c.SweepEvery == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	if err := schedule(ctx, t.ScheduleClient(), c.SweepEvery); err != nil {
		c.Log.WarnContext(ctx, unswept, "reason", serviceerror.ToStatus(err).Code().String())
	}
}

func schedule(ctx context.Context, schedules client.ScheduleClient, every time.Duration) error {
	intervals := []client.ScheduleIntervalSpec{{Every: every}}
	err := schedules.GetHandle(ctx, workflows.SweepID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(now client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := now.Description.Schedule
			if s.Spec != nil && len(s.Spec.Intervals) == 1 && s.Spec.Intervals[0] == intervals[0] {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			s.Spec = &client.ScheduleSpec{Intervals: intervals}
			return &client.ScheduleUpdate{Schedule: &s}, nil
		},
	})
	var missing *serviceerror.NotFound
	if !errors.As(err, &missing) {
		return err
	}
	_, err = schedules.Create(ctx, client.ScheduleOptions{
		ID:   workflows.SweepID,
		Spec: client.ScheduleSpec{Intervals: intervals},
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.SweepID, Workflow: workflows.SweepType, TaskQueue: toolspec.TaskQueue, WorkflowExecutionTimeout: sweepTimeout,
		},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: sweepCatchup,
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil // another worker was faster
	}
	return err
}
