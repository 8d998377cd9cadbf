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
	"github.com/pawl-run/pawl/workflows/upkeep"
)

const (
	// scheduleTimeout bounds what a start waits for the schedule.
	scheduleTimeout = 30 * time.Second
	// sweepTimeout ends a sweep that no worker carries on; the schedule starts no
	// other while it runs.
	sweepTimeout = time.Hour
	// verifyTimeout is that of a search for secrets.
	verifyTimeout = 3 * time.Hour
	// sweepCatchup is how late a sweep still starts, the shortest there is: one
	// that was missed is made good by the next.
	sweepCatchup = 10 * time.Second
	// unswept is what a worker says that may not make the schedule.
	unswept = "the schedule " + upkeep.SweepID + " could not be made, so calls whose workflow was terminated or timed out stay open " +
		"and nothing is deleted; have it created (docs/operations.md), or set PAWL_SWEEP_EVERY=off where another worker sweeps"
	unverified = "the schedule " + upkeep.VerifyID + " could not be made, so nobody searches histories for secrets; have it created " +
		"(docs/operations.md), or leave PAWL_VERIFY_EVERY out"
)

// scheduled is a workflow that a schedule starts; the schedule has its id.
type scheduled struct {
	id, workflow string
	every        time.Duration
	// timeout ends a run that no worker carries on.
	timeout time.Duration
}

// sweeps settle what no workflow settles; verifications search for secrets.
func sweeps(every time.Duration) scheduled {
	return scheduled{upkeep.SweepID, upkeep.SweepType, every, sweepTimeout}
}

func verifications(every time.Duration) scheduled {
	return scheduled{upkeep.VerifyID, upkeep.VerifyType, every, verifyTimeout}
}

// needSchedules makes the schedules that are wanted, or brings their intervals up
// to date; what people changed of one besides, such as a pause, stays. Calls do
// not need them, so a worker that may not make one runs all the same.
func needSchedules(ctx context.Context, c Config, t client.Client) {
	if err := needSchedule(ctx, t, sweeps(c.SweepEvery)); err != nil {
		c.Log.WarnContext(ctx, unswept, "reason", serviceerror.ToStatus(err).Code().String())
	}
	if err := needSchedule(ctx, t, verifications(c.VerifyEvery)); err != nil {
		c.Log.WarnContext(ctx, unverified, "reason", serviceerror.ToStatus(err).Code().String())
	}
}

func needSchedule(ctx context.Context, t client.Client, s scheduled) error {
	if s.every == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	return schedule(ctx, t.ScheduleClient(), s)
}

func schedule(ctx context.Context, schedules client.ScheduleClient, wanted scheduled) error {
	intervals := []client.ScheduleIntervalSpec{{Every: wanted.every}}
	err := schedules.GetHandle(ctx, wanted.id).Update(ctx, client.ScheduleUpdateOptions{
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
		ID:   wanted.id,
		Spec: client.ScheduleSpec{Intervals: intervals},
		Action: &client.ScheduleWorkflowAction{
			ID: wanted.id, Workflow: wanted.workflow, TaskQueue: toolspec.TaskQueue, WorkflowExecutionTimeout: wanted.timeout,
		},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: sweepCatchup,
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil // another worker was faster
	}
	return err
}
