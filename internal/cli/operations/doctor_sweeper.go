package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// sweeper checks that the schedule of the sweeper exists and is not paused, and that the last sweep succeeded. A
// missing schedule is a fault only if wanted is set: PAWL_SWEEP_EVERY is not off.
func (d *diagnosis) sweeper(ctx context.Context, t temporal.Client, wanted bool) {
	s, err := describeSweep(ctx, t)
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing) && !wanted:
		d.add("sweeper", nil, "off by PAWL_SWEEP_EVERY: calls whose workflow is terminated stay open")
	case errors.As(err, &missing):
		d.add("sweeper", errors.New("there is no schedule "+upkeep.SweepID+": a worker creates it when it starts; if the worker is not allowed to, its log says so"), "")
	case err != nil:
		d.add("sweeper", errors.New("temporal did not return the schedule "+upkeep.SweepID), "")
	case s.Schedule.State != nil && s.Schedule.State.Paused:
		d.add("sweeper", errors.New("the schedule "+upkeep.SweepID+" is paused: `temporal schedule toggle --schedule-id "+upkeep.SweepID+" --unpause --reason …`"), "")
	default:
		last, err := lastSweep(ctx, t, s.Info.RecentActions)
		d.add("sweeper", err, interval(s)+last)
	}
}

// scheduleSettles is how long describeSweep asks for the schedule again after an error: shortly after a change, the
// server may not be able to describe a schedule.
const scheduleSettles = 8 * time.Second

func describeSweep(ctx context.Context, t temporal.Client) (s *temporal.ScheduleDescription, err error) {
	ctx, cancel := context.WithTimeout(ctx, scheduleSettles)
	defer cancel()
	var missing *serviceerror.NotFound
	// After the timeout, err is the last answer of the server.
	_ = app.WaitFor(ctx, func() bool {
		s, err = t.ScheduleClient().GetHandle(ctx, upkeep.SweepID).Describe(ctx)
		return err == nil || errors.As(err, &missing)
	})
	return s, err
}

func interval(s *temporal.ScheduleDescription) string {
	if s.Schedule.Spec == nil || len(s.Schedule.Spec.Intervals) != 1 {
		return "as the schedule says, "
	}
	return "every " + s.Schedule.Spec.Intervals[0].Every.String() + ", "
}

// lastSweep says what the newest sweep that has ended has done, and returns an error if this sweep failed. At most one
// sweep is in progress, so one of the two newest sweeps has ended.
func lastSweep(ctx context.Context, t temporal.Client, actions []temporal.ScheduleActionResult) (string, error) {
	actions = slices.Clone(actions)
	slices.SortFunc(actions, func(a, b temporal.ScheduleActionResult) int { return b.ActualTime.Compare(a.ActualTime) })
	for _, a := range actions[:min(2, len(actions))] {
		if a.StartWorkflowResult == nil {
			continue
		}
		id, at := a.StartWorkflowResult.WorkflowID, a.ActualTime.UTC().Format(time.RFC3339)
		run, err := t.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return "", fmt.Errorf("temporal did not return the state of the sweep %s", id)
		}
		switch status := run.GetWorkflowExecutionInfo().GetStatus(); status {
		case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			continue
		case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
			var out upkeep.SweepOut
			if err := t.GetWorkflow(ctx, id, "").Get(ctx, &out); err != nil {
				return "", fmt.Errorf("the result of the sweep %s is not readable for this program: use the version of the workers", id)
			}
			return "last at " + at + ": " + counts(out), sweepFault(id, out)
		default:
			return "", fmt.Errorf("the sweep %s ended as %s: see the workflow in the Temporal UI", id, status)
		}
	}
	return "no run has ended yet", nil
}

// sweepFault returns an error if the sweep with this id failed in part.
func sweepFault(id string, out upkeep.SweepOut) error {
	switch {
	case len(out.Failed) > 0:
		return fmt.Errorf("the sweep %s failed in part: %s; the workers' logs have the cause", id, strings.Join(out.Failed, ", "))
	case out.Calls.Refused > 0:
		return fmt.Errorf("the sweep %s could not end %d calls in the database; the workers' logs have the cause", id, out.Calls.Refused)
	}
	return nil
}

func counts(out upkeep.SweepOut) string {
	text := fmt.Sprintf("%d open, %d swept", out.Calls.Open, out.Calls.Swept())
	if out.Calls.Unclear > 0 {
		text += fmt.Sprintf(", %d that Temporal says nothing of", out.Calls.Unclear)
	}
	if n := out.Expired.Calls; n > 0 {
		text += fmt.Sprintf(", %d past their %d days", n, out.Expired.RetentionDays)
	}
	return text
}
