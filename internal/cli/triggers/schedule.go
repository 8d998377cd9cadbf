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
	// catchup is how late Temporal may start a run that it could not start at its time, for example because the server
	// was down.
	catchup = 10 * time.Minute
	// scheduleTimeout bounds a change of a schedule.
	scheduleTimeout = 30 * time.Second
)

// syncSchedule makes, changes or deletes the schedule of a trigger in Temporal, as the active version of the trigger
// says, and returns this version. Commands that change the trigger at the same time write the schedule in any order.
// So syncSchedule reads the active version again after it has written the schedule, and repeats until it is the
// version that was written: the command that writes last has then read the last change.
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

// writeSchedule makes or changes the schedule of a trigger as the document says. It deletes the schedule if isActive
// is false or the document has no times. A paused schedule stays paused.
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
			// The workflow of a time ends when it has started the run of the agent. While no worker runs, it stays
			// open, and Temporal leaves out the times that follow.
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
