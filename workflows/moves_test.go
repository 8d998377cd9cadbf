package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// pools is a fake of the other workers: the workers of these pools run and have every tool.
type pools []string

func (pools) IsLive(context.Context, string, string) (bool, error) { return true, nil }

func (p pools) PoolsOf(context.Context, string, string) ([]string, error) { return p, nil }

// queueOf returns the task queue to which a call moves, and the data that it passes to its next run. The queue is empty if the call stays.
func (r *rig) queueOf(inv toolspec.Invocation) (queue string, m contract.Moved) {
	r.t.Helper()
	var next *workflow.ContinueAsNewError
	if err := r.env.GetWorkflowError(); !errors.As(err, &next) {
		return "", m
	}
	var got toolspec.Invocation
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &got, &m); err != nil || got.ToolCallID != inv.ToolCallID || string(got.Args) != string(inv.Args) {
		r.t.Errorf("the next run gets %+v, %v", got, err)
	}
	return next.TaskQueueName, m
}

// TestMoves: a call that finds no tool at admit, hydrate or execute moves to the workers that have the tool, unless an attempt may have had an
// effect. It does not move to its own task queue, and not in a history from before moves.
func TestMoves(t *testing.T) {
	for _, tc := range []struct {
		name, tool string
		from, to   int64
		elsewhere  pools
		fail       func(int) error
		old        bool
		want       string
		runs       int
	}{
		{name: "at admit", tool: "core__read", from: 1, to: never, elsewhere: pools{"media"}, want: "pawl-media"},
		{name: "at hydrate", tool: "core__read", from: 2, to: never, elsewhere: pools{"media"}, want: "pawl-media"},
		{name: "at execute, local", tool: "core__read", from: 3, to: never, elsewhere: pools{"media"}, want: "pawl-media"},
		{name: "at execute", tool: "core__mail", from: 3, to: never, elsewhere: pools{"media"}, want: "pawl-media"},
		{name: "the shared queue first", tool: "core__mail", from: 3, to: never, elsewhere: pools{"", "media"}, want: ""},
		{name: "nowhere", tool: "core__read", from: 2, to: never, elsewhere: pools{}, want: ""},
		{name: "of an older history", tool: "core__read", from: 2, to: never, elsewhere: pools{"media"}, old: true, want: ""},
		{name: "after an attempt", tool: "core__write", from: 4, to: never, elsewhere: pools{"media"}, fail: func(int) error { return toolspec.RetryAfter(time.Second, "busy") }, want: "", runs: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy, source: lacks(tc.from, tc.to), workers: tc.elsewhere, fail: tc.fail})
			if tc.old {
				r.env.OnGetVersion("move", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
			}
			inv := call(tc.tool, args)
			begun := r.env.Now()
			r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
			r.env.ExecuteWorkflow(toolspec.WorkflowType, inv)
			queue, m := r.queueOf(inv)
			if queue != tc.want || r.ran() != tc.runs {
				t.Fatalf("the call moves to %q after %d runs of its tool, want %q after %d", queue, r.ran(), tc.want, tc.runs)
			}
			if queue == "" {
				if result := r.result(); result.ErrorCode != toolspec.CodeUnavailable {
					t.Errorf("the call that stays ends with %+v", result)
				}
			} else if m.Moves != 1 || m.StartedAtMs < begun.Add(-time.Second).UnixMilli() || m.StartedAtMs > begun.Add(time.Second).UnixMilli() {
				t.Errorf("it takes %+v along, begun at %s", m, begun)
			}
		})
	}
}

// TestMoved: a contract.Moved counts only in a run that continues another run. It gives the call neither a later deadline nor more moves than
// a call without it has. Hooks see when the call began, and not when it moved.
func TestMoved(t *testing.T) {
	minute := time.Minute
	for _, tc := range []struct {
		name      string
		moved     any
		fresh     bool // the run does not continue another run
		took      time.Duration
		startedAt time.Duration // how long before this run the call began
	}{
		{name: "nothing", took: 15 * minute},
		{name: "ten minutes ago", moved: contract.Moved{StartedAtMs: -10 * minute.Milliseconds()}, took: 5 * minute, startedAt: 10 * minute},
		{name: "ten minutes ago, four of them waiting", moved: contract.Moved{StartedAtMs: -10 * minute.Milliseconds(), WaitedMs: 4 * minute.Milliseconds()}, took: 9 * minute, startedAt: 10 * minute},
		{name: "an hour ago", moved: contract.Moved{StartedAtMs: -60 * minute.Milliseconds()}, took: 0, startedAt: 60 * minute},
		{name: "no other run", moved: contract.Moved{StartedAtMs: -10 * minute.Milliseconds()}, fresh: true, took: 15 * minute},
		{name: "in the future", moved: contract.Moved{StartedAtMs: 60 * minute.Milliseconds(), WaitedMs: 60 * minute.Milliseconds()}, took: 15 * minute},
		{name: "waited longer than ever", moved: contract.Moved{StartedAtMs: -minute.Milliseconds(), WaitedMs: 600 * minute.Milliseconds()}, took: 15 * minute, startedAt: minute},
		{name: "waited less than nothing", moved: contract.Moved{StartedAtMs: -minute.Milliseconds(), WaitedMs: -600 * minute.Milliseconds()}, took: 14 * minute, startedAt: minute},
		{name: "waited so long that it overflows", moved: contract.Moved{StartedAtMs: -minute.Milliseconds(), WaitedMs: 1 << 62}, took: 15 * minute, startedAt: minute},
		{name: "long ago", moved: contract.Moved{StartedAtMs: -10 * 366 * 24 * 60 * minute.Milliseconds()}, took: 0, startedAt: 366 * 24 * 60 * minute},
		{name: "unreadable", moved: []int{1}, took: 15 * minute},
		{name: "moved too often", moved: contract.Moved{Moves: 32}, took: 15 * minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen time.Time
			o := rigOptions{policy: freePolicy, source: lacks(2, never), workers: pools{}, hooks: []hook.Hook{
				hook.New("clock", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { seen = v.StartedAt(); return nil })),
			}}
			if m, ok := tc.moved.(contract.Moved); ok && m.Moves > 0 {
				o.workers = pools{"media"}
			}
			r := newRig(t, o)
			now := r.env.Now().Truncate(time.Second)
			r.env.SetStartTime(now)
			if m, ok := tc.moved.(contract.Moved); ok {
				m.StartedAtMs += now.UnixMilli()
				tc.moved = m
			}
			inv := call("core__read", args)
			r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
			if !tc.fresh {
				r.env.SetContinuedExecutionRunID("run-before")
			}
			if tc.moved == nil {
				r.env.ExecuteWorkflow(toolspec.WorkflowType, inv)
			} else {
				r.env.ExecuteWorkflow(toolspec.WorkflowType, inv, tc.moved)
			}
			result := r.result()
			took := time.Duration(result.EndedAtMs-now.UnixMilli()) * time.Millisecond
			if took < tc.took-minute/2 || took > tc.took+minute/2 || result.OK {
				t.Errorf("the call took %s, want %s: %+v", took, tc.took, result)
			}
			if got := time.Duration(now.UnixMilli()-result.StartedAtMs) * time.Millisecond; got != tc.startedAt {
				t.Errorf("the call says that it began %s before this run, want %s", got, tc.startedAt)
			}
			if tc.took > 0 && seen.UnixMilli() != result.StartedAtMs {
				t.Errorf("a hook sees that the call began at %s, want %s", seen, time.UnixMilli(result.StartedAtMs).UTC())
			}
		})
	}
}

// TestPausesBetweenMoves: after two moves, a call waits before each further move, so that it does not move in a busy loop.
func TestPausesBetweenMoves(t *testing.T) {
	for moves, pause := range map[int]time.Duration{0: 0, 1: 0, 2: time.Second, 3: 2 * time.Second, 5: 8 * time.Second, 20: 30 * time.Second} {
		r := newRig(t, rigOptions{policy: freePolicy, source: lacks(1, never), workers: pools{"media"}})
		inv := call("core__read", args)
		r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
		r.env.SetContinuedExecutionRunID("run-before")
		begun := r.env.Now()
		r.env.ExecuteWorkflow(toolspec.WorkflowType, inv, contract.Moved{Moves: moves})
		queue, m := r.queueOf(inv)
		if took := r.env.Now().Sub(begun); queue != "pawl-media" || m.Moves != moves+1 || took < pause || took > pause+time.Second/2 {
			t.Errorf("after %d moves the call moves to %q after %s with %+v, want a pause of %s", moves, queue, took, m, pause)
		}
	}
}

// TestCarriedIsBounded: the decisions that a moving call passes on have a bound in bytes. The call passes on the oldest decisions.
func TestCarriedIsBounded(t *testing.T) {
	r := newRig(t, rigOptions{policy: freePolicy, source: lacks(1, never), workers: pools{"media"}})
	inv := call("core__read", args)
	r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
	r.env.SetContinuedExecutionRunID("run-before")
	text := `{"text":"` + strings.Repeat("x", 20<<10) + `"}`
	r.decideAfter(100*time.Millisecond, 1, toolspec.Approve, "user:ann")
	for range 60 {
		r.decideAfter(200*time.Millisecond, 2, toolspec.Edit, "user:eve", func(d *toolspec.Decision) { d.EditedArgs = json.RawMessage(text) })
	}
	r.env.ExecuteWorkflow(toolspec.WorkflowType, inv, contract.Moved{Moves: 3}) // so that it pauses before it moves
	queue, m := r.queueOf(inv)
	data, err := json.Marshal(m)
	if err != nil || queue != "pawl-media" || len(data) > 300<<10 || len(m.Decisions) < 10 || m.Decisions[0].Approver != "user:ann" {
		t.Errorf("the call moves to %q with %d decisions in %d bytes, %v", queue, len(m.Decisions), len(data), err)
	}
}
