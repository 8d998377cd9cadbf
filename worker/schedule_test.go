package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

const (
	noSchedule = "the schedule pawl-sweep could not be made"
	// seldom is an interval whose first time, counted from 1970, is in 2049.
	seldom = 80 * 365 * 24 * time.Hour
)

func (w *world) schedule() (*client.ScheduleDescription, error) {
	return w.temporal.ScheduleClient().GetHandle(w.t.Context(), upkeep.SweepID).Describe(w.t.Context())
}

// waitForInterval waits until the schedule has this interval.
func (w *world) waitForInterval(want time.Duration) *client.ScheduleDescription {
	w.t.Helper()
	var d *client.ScheduleDescription
	// The server may return an old state of a schedule that has just changed.
	w.until("the schedule says how it stands", func() (err error) {
		d, err = w.schedule()
		return err
	})
	if i := d.Schedule.Spec.Intervals; len(i) != 1 || i[0].Every != want || i[0].Offset != 0 {
		w.t.Fatalf("the intervals are %+v, want %s", i, want)
	}
	return d
}

// TestSchedule: several workers make the schedule once. The last worker sets its interval. Other changes by
// people stay.
func TestSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.SweepEvery = seldom
	first, second := w.start(), w.start()
	first.waitForLog(runs)
	w.until("both run", func() error {
		if strings.Count(w.log.String(), runs) < 2 {
			return errors.New(w.log.String())
		}
		return nil
	})
	d := w.waitForInterval(seldom)
	action, ok := d.Schedule.Action.(*client.ScheduleWorkflowAction)
	if !ok || action.ID != upkeep.SweepID || action.Workflow != upkeep.SweepType || action.TaskQueue != toolspec.TaskQueue || len(action.Args) != 0 {
		t.Errorf("the action is %+v", d.Schedule.Action)
	}
	if got := d.Schedule.Policy.Overlap.String(); got != "Skip" {
		t.Errorf("the overlap policy is %s", got)
	}
	if strings.Contains(w.log.String(), noSchedule) {
		t.Errorf("a worker complains:\n%s", w.log)
	}
	if err := errors.Join(first.stop(), second.stop()); err != nil {
		t.Fatal(err)
	}
	handle := w.temporal.ScheduleClient().GetHandle(t.Context(), upkeep.SweepID)
	if err := handle.Pause(t.Context(), client.SchedulePauseOptions{Note: "by hand"}); err != nil {
		t.Fatal(err)
	}
	before := w.waitForInterval(seldom).Info.LastUpdateAt
	// The same interval again changes nothing.
	w.startAndStop()
	if d := w.waitForInterval(seldom); !d.Info.LastUpdateAt.Equal(before) {
		t.Errorf("it was updated at %s and then at %s", before, d.Info.LastUpdateAt)
	}
	w.config.SweepEvery = time.Second
	w.startAndStop()
	d = w.waitForInterval(time.Second)
	if !d.Schedule.State.Paused || d.Schedule.State.Note != "by hand" {
		t.Errorf("the state is %+v", d.Schedule.State)
	}
	if d.Info.NumActions != 0 {
		t.Fatalf("it fired %d times before it should", d.Info.NumActions)
	}
	// PAWL_SWEEP_EVERY=off leaves the schedule of other workers as it is.
	w.config.SweepEvery = 0
	w.startAndStop()
	w.waitForInterval(time.Second)
	// The schedule fires, and this worker sweeps, although it makes no schedule itself.
	r := w.start()
	if err := handle.Unpause(t.Context(), client.ScheduleUnpauseOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("a sweep has ended well", func() error {
		d, err := w.schedule()
		if err != nil || len(d.Info.RecentActions) == 0 {
			return fmt.Errorf("no actions: %w", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		defer cancel()
		var out upkeep.SweepOut
		return w.temporal.GetWorkflow(ctx, d.Info.RecentActions[0].StartWorkflowResult.WorkflowID, "").Get(ctx, &out)
	})
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// startAndStop starts a worker and stops it.
func (w *world) startAndStop() {
	w.t.Helper()
	before := strings.Count(w.log.String(), runs)
	r := w.start()
	w.until("it runs", func() error {
		if strings.Count(w.log.String(), runs) == before {
			return errors.New(w.log.String())
		}
		return nil
	})
	if err := r.stop(); err != nil {
		w.t.Error(err)
	}
}

// TestNoSchedule: a worker with the interval 0 makes no schedule.
func TestNoSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	r.waitForLog(runs)
	_, err := w.schedule()
	var missing *serviceerror.NotFound
	if !errors.As(err, &missing) {
		t.Errorf("there is a schedule: %v", err)
	}
}

// TestScheduleRefused: if the server refuses schedules, the worker logs this once, and runs.
func TestScheduleRefused(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: []string{"frontend.enableSchedules=false"}})
	w := newWorldAt(t, server.Address())
	w.config.SweepEvery = time.Minute
	w.config.PolicyFile = w.file("policy.yaml", rules)
	r := w.start(Tools(tool("test__own")))
	r.waitForLog(runs)
	if n := strings.Count(w.log.String(), noSchedule); n != 1 {
		t.Errorf("it says so %d times:\n%s", n, w.log)
	}
	if result, err := w.invoke("test__own", "own", `{"text":"hello"}`); err != nil || !result.OK {
		t.Errorf("result %+v, %v", result, err)
	}
}

// TestScheduleIsMadeOnce: if several workers start at the same moment, one makes the schedule, and the others
// find it.
func TestScheduleIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const workers = 10
	errs := make(chan error, workers)
	for range workers {
		go func() { errs <- schedule(t.Context(), w.temporal.ScheduleClient(), sweeps(time.Hour)) }()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	w.waitForInterval(time.Hour)
}
