package histories

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// shows waits until the outline of a call has a line n times.
func shows(w *e2etest.World, inv toolspec.Invocation, line string, n int) {
	w.T.Helper()
	w.Until(func() bool {
		lines := historytest.Outline(w.History(inv.Identity().WorkflowID(), ""))
		return len(slices.DeleteFunc(lines, func(l string) bool { return l != line })) >= n
	}, fmt.Sprintf("%s shows %q %d times", inv.ToolCallID, line, n))
}

// waiting records calls that wait: until a time, between two attempts, and in execute.
func (r *recorder) waiting(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	entered := make(chan struct{}, 1)
	w.Work(worker.Tools(
		waitingTool("test__busy", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{}, toolspec.RetryAfter(longRetry, "not now")
		}),
		waitingTool("test__slow", hang(entered)), waitingTool("test__closed", e2etest.Echo),
	), worker.ToolHooks("test__closed", later(longRetry)))
	inv := e2etest.Invocation("waiting_until", "test__closed", `{"text":"hello"}`)
	w.Start(inv)
	r.waits(w, "waiting_until", "timer", inv)
	inv = e2etest.Invocation("waiting_retry", "test__busy", `{"text":"hello"}`)
	w.Start(inv)
	r.waits(w, "waiting_retry", "timer", inv)
	inv = e2etest.Invocation("waiting_execute", "test__slow", `{"text":"hello"}`)
	w.Start(inv)
	e2etest.Receive(t, entered)
	// The history gets an event for the start of the activity only together with its answer.
	r.waits(w, "waiting_execute", "activity execute", inv)
}

// lost records calls whose worker is killed or is stopped in execute.
func (r *recorder) lost(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	first := w.ServeInChild()
	cases := map[string]string{"lost_unknown": "test__send", "lost_retried": "test__write", "lost_claimed": "test__quick"}
	for shape, toolID := range cases {
		w.Start(e2etest.Invocation(shape, toolID, fmt.Sprintf(`{"text":%q,"note":"hang"}`, shape)))
	}
	for shape := range cases {
		w.Until(func() bool { return len(w.Effects(w.Workspace+"/"+shape)) >= 1 }, "every tool runs")
	}
	e2etest.Kill(first)

	entered := make(chan struct{}, 1)
	stop := w.Work(worker.Tools(append(e2etest.ChildTools(), e2etest.Tool("test__stop", hang(entered), e2etest.Once))...))
	stopped := e2etest.Invocation("stopped_unknown", "test__stop", `{}`)
	call := w.Start(stopped)
	e2etest.Receive(t, entered)
	stop()
	w.ServeInChild()
	e2etest.WantCode(t, w.Result(call), toolspec.CodeOutcomeUnknown)
	r.ended(w, "stopped_unknown", stopped)
	for shape, toolID := range cases {
		inv := e2etest.Invocation(shape, toolID, fmt.Sprintf(`{"text":%q,"note":"hang"}`, shape))
		w.Invoke(inv)
		r.ended(w, shape, inv)
	}
}

// deploys records calls that get a worker which does not have a tool or a hook of their plan, or has another version of the tool.
func (r *recorder) deploys(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var runs e2etest.Ledger
	changing := e2etest.Tool("test__change", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		if runs.Add(call) == 1 {
			return e2etest.Out{}, toolspec.RetryAfter(20*time.Second, "not now") // time for its worker to stop
		}
		return e2etest.Echo(ctx, in, call)
	}, e2etest.Idempotent, e2etest.Attempts(2))
	changed := e2etest.Tool("test__change", e2etest.Echo, e2etest.Idempotent, e2etest.Attempts(2),
		func(d *toolspec.Definition) { d.Version = "2" })
	gone, hooked := waitingTool("test__gone", e2etest.Echo), waitingTool("test__hooked", e2etest.Echo)

	stop := w.Work(worker.Tools(changing, gone, hooked), gateHook)
	calls := map[string]toolspec.Invocation{
		"tool_missing": e2etest.Invocation("tool_missing", "test__gone", `{"text":"hello"}`),
		"hook_missing": e2etest.Invocation("hook_missing", "test__hooked", `{"text":"hello"}`),
	}
	lacking := e2etest.Invocation("waiting_worker", "test__gone", `{"text":"hello"}`)
	unhooked := e2etest.Invocation("waiting_hook", "test__hooked", `{"text":"hello"}`)
	for _, inv := range []toolspec.Invocation{lacking, unhooked, calls["tool_missing"], calls["hook_missing"]} {
		w.Waiting(w.Start(inv).WorkflowID)
	}
	calls["tool_changed"] = e2etest.Invocation("tool_changed", "test__change", `{"text":"hello"}`)
	w.Retrying(w.Start(calls["tool_changed"]).WorkflowID)
	stop()

	// One worker lacks a tool and a hook and has another version of the second tool; the next has everything.
	stop = w.Work(worker.Tools(changed, hooked))
	for _, inv := range []toolspec.Invocation{lacking, unhooked, calls["tool_missing"], calls["hook_missing"]} {
		w.Approve(inv.Identity().WorkflowID())
	}
	// The first timer of each call is for its approval.
	shows(w, lacking, "timer", 2)
	r.waits(w, "waiting_worker", "timer", lacking)
	shows(w, unhooked, "timer", 2)
	r.waits(w, "waiting_hook", "timer", unhooked)
	for _, shape := range []string{"tool_missing", "hook_missing"} {
		shows(w, calls[shape], "timer", 2)
	}
	stop()
	w.Work(worker.Tools(changed, gone, hooked), gateHook)
	for shape, inv := range calls {
		e2etest.WantText(t, w.Invoke(inv), "hello")
		r.ended(w, shape, inv)
	}
	r.ended(w, "tool_missing_at_gate", calls["tool_missing"])
}

// databaseAway records a call that is admitted while the database is down. The pauses between its retries become durable timers.
func (r *recorder) databaseAway(t *testing.T) {
	p := devstacktest.OwnPostgres(t)
	w := e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy)
	w.Work(worker.Tools(waitingTool("test__read", e2etest.Echo)))
	w.Until(func() bool { return w.Log.Has("worker runs") }, "the worker runs")
	if err := p.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	inv := e2etest.Invocation("database_away", "test__read", `{"text":"hello"}`)
	call := w.Start(inv)
	shows(w, inv, "timer", 1)
	r.waits(w, "waiting_database", "timer", inv)
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	r.ended(w, "database_away", inv)
}
