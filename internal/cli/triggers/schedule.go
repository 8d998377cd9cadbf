package triggers

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// catchup is how late Temporal may start the run of a time that it has missed.
	catchup = 10 * time.Minute
	// scheduleTimeout bounds a change of a schedule.
	scheduleTimeout = 30 * time.Second
)

// syncSchedule makes or changes the schedule of a trigger as its active version says, or deletes it, and returns the active version.
// Commands that change the trigger at the same time write the schedule in any order. So syncSchedule reads the version again after it
// has written the schedule, and repeats until the version is the same: the last command to write has then read the last change.
func syncSchedule(ctx context.Context, s *app.Session, tenantID, name string) (trigger.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	d, retired, err := s.Store.Trigger(ctx, tenantID, name, "")
	for err == nil {
		if err := writeSchedule(ctx, s.Temporal, d, !retired); err != nil {
			return d, err
		}
		written, wasRetired := d.Version, retired
		d, retired, err = s.Store.Trigger(ctx, tenantID, name, "")
		if err == nil && d.Version == written && retired == wasRetired {
			return d, nil
		}
	}
	return d, fmt.Errorf("the trigger is stored, and its schedule may be of an earlier version: %w; apply or retire the trigger again", err)
}

// writeSchedule makes or changes the schedule of a trigger as the document says, or deletes it. A paused schedule stays paused.
func writeSchedule(ctx context.Context, c temporal.Client, d trigger.Document, isActive bool) error {
	schedules, id := c.ScheduleClient(), contract.TriggerScheduleID(d.TenantID, d.Name)
	handle := schedules.GetHandle(ctx, id)
	var missing *serviceerror.NotFound
	if !isActive || d.Times == nil {
		if err := handle.Delete(ctx); err != nil && !errors.As(err, &missing) {
			return fmt.Errorf("the schedule %s cannot be deleted, and its times start no run: %s; apply or retire the trigger again", id, serviceerror.ToStatus(err).Code())
		}
		return nil
	}
	spec, action := specOf(*d.Times), &temporal.ScheduleWorkflowAction{
		// Temporal adds the time to this id, and so starts one workflow for each time.
		ID: id, Workflow: contract.FireTriggerType, TaskQueue: toolspec.TaskQueue, WorkflowExecutionTimeout: contract.FireTime,
		Args: []any{contract.FireTrigger{TenantID: d.TenantID, Name: d.Name}}, Priority: sdktemporal.Priority{FairnessKey: d.TenantID},
	}
	err := handle.Update(ctx, temporal.ScheduleUpdateOptions{DoUpdate: func(now temporal.ScheduleUpdateInput) (*temporal.ScheduleUpdate, error) {
		s := now.Description.Schedule
		s.Spec, s.Action = &spec, action
		return &temporal.ScheduleUpdate{Schedule: &s}, nil
	}})
	if errors.As(err, &missing) {
		_, err = schedules.Create(ctx, temporal.ScheduleOptions{
			ID: id, Spec: spec, Action: action, CatchupWindow: catchup,
			// The workflow ends when the run is started. While no worker starts it, the times that follow are left out.
			Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		})
		if errors.Is(err, sdktemporal.ErrScheduleAlreadyRunning) {
			return fmt.Errorf("another command makes the schedule %s now; apply the trigger again", id)
		}
	}
	if err != nil {
		return fmt.Errorf("the trigger is stored, and its schedule %s cannot be made: %s; apply the trigger again", id, serviceerror.ToStatus(err).Code())
	}
	return nil
}

func specOf(t trigger.Times) temporal.ScheduleSpec {
	if t.EverySeconds > 0 {
		return temporal.ScheduleSpec{Intervals: []temporal.ScheduleIntervalSpec{{Every: time.Duration(t.EverySeconds) * time.Second}}}
	}
	return temporal.ScheduleSpec{CronExpressions: []string{t.Cron}, TimeZoneName: t.Zone}
}
