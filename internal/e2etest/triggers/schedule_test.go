package triggers

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
)

const nightly = `name: nightly
version: "1"
tenant: acme
actor: agent:e2etest
agent: helper
on: schedule
schedule: {cron: "0 3 * * 1-5", zone: Europe/Berlin}
prompt: "Look at what changed before {{scheduledAt}}."
`

// TestSchedule: each time of a schedule starts one run as the actor of the trigger. The schedule changes when another version of the trigger is applied, and is
// removed when the trigger is retired.
func TestSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(nightly)
	schedule := w.Temporal.ScheduleClient().GetHandle(t.Context(), "trigger:acme:nightly")
	described, err := schedule.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if next := described.Info.NextActionTimes; len(next) == 0 || next[0].UTC().Minute() != 0 || next[0].UTC().Hour() < 1 || next[0].UTC().Hour() > 2 {
		t.Errorf("the next times are %v, want 3 o'clock in Berlin", next)
	}
	if err := schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return w.runs() == 1 }, "the run ends")
	var in agent.Input
	if err := json.Unmarshal([]byte(e2etest.Query[string](w.World, "SELECT input::text FROM agent_runs")[0]), &in); err != nil {
		t.Fatal(err)
	}
	text := in.Messages[0].Content[0].Text
	if in.Context.ActorID != "agent:e2etest" || in.Context.TenantID != "acme" || !strings.Contains(text, `] scheduledAt = "20`) {
		t.Errorf("the run is %+v with %q", in.Context, text)
	}
	// If the workflow of the schedule runs again for the same time, because of a reset or another start, no second run starts.
	var fired string
	w.Until(func() bool {
		for _, event := range e2etest.Query[string](w.World, "SELECT event_id FROM trigger_events WHERE name = 'nightly' AND run_id IS NOT NULL") {
			fired = event
		}
		return fired != ""
	}, "the event is recorded")
	w.Replay("trigger:acme:nightly-" + fired)
	w.MustCLI("workflow", "reset", "--workflow-id", "trigger:acme:nightly-"+fired, "--type", "FirstWorkflowTask", "--reason", "test")
	w.Until(func() bool {
		d, err := w.Temporal.DescribeWorkflowExecution(t.Context(), "trigger:acme:nightly-"+fired, "")
		return err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
	}, "the workflow ends again")
	if n := e2etest.Query[int](w.World, "SELECT count(*)::int FROM agent_runs")[0]; n != 1 {
		t.Errorf("the time has started %d runs", n)
	}
	w.apply(strings.NewReplacer(`version: "1"`, `version: "2"`, `{cron: "0 3 * * 1-5", zone: Europe/Berlin}`, "{every: 2h}").Replace(nightly))
	if described, err = schedule.Describe(t.Context()); err != nil || len(described.Schedule.Spec.Intervals) != 1 || described.Schedule.Spec.Intervals[0].Every != 2*time.Hour {
		t.Errorf("the schedule is %+v, %v", described.Schedule.Spec, err)
	}
	w.pawl(true, "retired", "trigger", "retire", "nightly", "--as", "user:root")
	var missing *serviceerror.NotFound
	if _, err := schedule.Describe(t.Context()); !errors.As(err, &missing) {
		t.Errorf("the schedule of a retired trigger: %v", err)
	}
	w.pawl(true, "the trigger is retired", "trigger", "apply", w.file("trigger.yaml", strings.Replace(nightly, `"1"`, `"3"`, 1)), "--as", "user:root")
	if _, err := schedule.Describe(t.Context()); !errors.As(err, &missing) {
		t.Errorf("applying a version has started a retired schedule: %v", err)
	}
	w.pawl(true, "active", "trigger", "activate", "nightly", "2", "--as", "user:root")
	if _, err := schedule.Describe(t.Context()); err != nil {
		t.Error(err)
	}
}
