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
	// scheduleTimeout bounds how long a start waits for one schedule.
	scheduleTimeout = 30 * time.Second
	// sweepTimeout ends a sweep that no worker continues. The schedule starts no other sweep while
	// one runs.
	sweepTimeout = time.Hour
	// verifyTimeout ends a search for secrets that no worker continues.
	verifyTimeout = 3 * time.Hour
	// sweepCatchup is how late a missed sweep may start; it is the shortest time that Temporal
	// allows. The next sweep does the work of a missed sweep.
	sweepCatchup = 10 * time.Second
	// unswept and unverified are the log messages of a worker that may not make a schedule.
	unswept = "the schedule " + upkeep.SweepID + " could not be made, so calls whose workflow was terminated or timed out stay open " +
		"and nothing is deleted; have it created (docs/operations.md), or set PAWL_SWEEP_EVERY=off where another worker sweeps"
	unverified = "the schedule " + upkeep.VerifyID + " could not be made, so nobody searches histories for secrets; have it created " +
		"(docs/operations.md), or leave PAWL_VERIFY_EVERY out"
)

// scheduled is a workflow that a schedule starts. id is the id of the schedule and of the
// workflow.
type scheduled struct {
	id, workflow string
	every        time.Duration
	// timeout ends a run that no worker continues.
	timeout time.Duration
}

// sweeps returns the schedule of the sweeper, which settles the calls whose workflow has ended.
func sweeps(every time.Duration) scheduled {
	return scheduled{upkeep.SweepID, upkeep.SweepType, every, sweepTimeout}
}

func verifications(every time.Duration) scheduled {
	return scheduled{upkeep.VerifyID, upkeep.VerifyType, every, verifyTimeout}
}

// needSchedules makes the configured schedules, or updates their intervals. It keeps other changes
// of a schedule, such as a pause. Calls do not need the schedules, so the worker also runs if it
// may not make them.
//
// Workers of pools make no schedules: the workflows of the schedules run on the shared queue, and its
// workers make them.
func needSchedules(ctx context.Context, c Config, t client.Client) {
	if c.Pool != "" {
		return
	}
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

// schedule updates the interval of a schedule or, if Temporal does not have it, creates the schedule.
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
