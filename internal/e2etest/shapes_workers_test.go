package e2etest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// retrying waits until a call is between two attempts.
func (w *world) retrying(workflowID string) {
	w.t.Helper()
	var last error
	w.until(func() bool {
		var state toolspec.State
		state, last = w.pawl.State(w.t.Context(), workflowID)
		return last == nil && state.Status == toolspec.StatusRetrying
	}, workflowID+" retries", &last)
}

// shows waits until the outline of a call has a line n times.
func (w *world) shows(inv toolspec.Invocation, line string, n int) {
	w.t.Helper()
	w.until(func() bool {
		lines := historytest.Outline(w.history(inv.Identity().WorkflowID(), ""))
		return len(slices.DeleteFunc(lines, func(l string) bool { return l != line })) >= n
	}, fmt.Sprintf("%s shows %q %d times", inv.ToolCallID, line, n))
}

// waiting records calls between two attempts and in execute.
func (r *recorder) waiting(t *testing.T) {
	w := newWorld(t, plainPolicy)
	entered := make(chan struct{}, 1)
	w.work(worker.Tools(
		waitingTool("test__busy", func(context.Context, in, toolspec.Call) (out, error) {
			return out{}, toolspec.RetryAfter(longRetry, "not now")
		}),
		waitingTool("test__slow", hang(entered)),
	))
	inv := invocation("waiting_retry", "test__busy", `{"text":"hello"}`)
	w.start(inv)
	r.waits(w, "waiting_retry", "timer", inv)
	inv = invocation("waiting_execute", "test__slow", `{"text":"hello"}`)
	w.start(inv)
	receive(t, entered)
	// That it runs is written down with its answer only.
	r.waits(w, "waiting_execute", "activity execute", inv)
}

// lost records calls whose worker dies or is stopped in execute.
func (r *recorder) lost(t *testing.T) {
	w := newWorld(t, plainPolicy)
	first := w.serveInChild()
	cases := map[string]string{"lost_unknown": "test__send", "lost_retried": "test__write"}
	for shape, toolID := range cases {
		w.start(invocation(shape, toolID, fmt.Sprintf(`{"text":%q,"note":"hang"}`, shape)))
	}
	for shape := range cases {
		w.until(func() bool { return len(w.effects(w.workspace+"/"+shape)) >= 1 }, "every tool runs")
	}
	kill(first)

	entered := make(chan struct{}, 1)
	stop := w.work(worker.Tools(append(childTools(), tool("test__stop", hang(entered), once))...))
	stopped := invocation("stopped_unknown", "test__stop", `{}`)
	call := w.start(stopped)
	receive(t, entered)
	stop()
	w.serveInChild()
	wantCode(t, w.result(call), toolspec.CodeOutcomeUnknown)
	r.ended(w, "stopped_unknown", stopped)
	for shape, toolID := range cases {
		inv := invocation(shape, toolID, fmt.Sprintf(`{"text":%q,"note":"hang"}`, shape))
		w.invoke(inv)
		r.ended(w, shape, inv)
	}
}

// deploys records calls that meet a worker which lacks what their plan names, or has another tool.
func (r *recorder) deploys(t *testing.T) {
	w := newWorld(t, plainPolicy)
	var runs ledger
	changing := tool("test__change", func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		if runs.add(call) == 1 {
			return out{}, toolspec.RetryAfter(20*time.Second, "not now") // time for its worker to stop
		}
		return echo(ctx, in, call)
	}, idempotent, attempts(2))
	changed := tool("test__change", echo, idempotent, attempts(2), func(d *toolspec.Definition) { d.Version = "2" })
	gone, hooked := waitingTool("test__gone", echo), tool("test__hooked", echo, idempotent, risky)
	gate := worker.ToolHooks("test__hooked", hook.New("gate", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil })))

	stop := w.work(worker.Tools(changing, gone, hooked), gate)
	calls := map[string]toolspec.Invocation{
		"tool_missing": invocation("tool_missing", "test__gone", `{"text":"hello"}`),
		"hook_missing": invocation("hook_missing", "test__hooked", `{"text":"hello"}`),
	}
	lacking := invocation("waiting_worker", "test__gone", `{"text":"hello"}`)
	for _, inv := range append([]toolspec.Invocation{lacking}, calls["tool_missing"], calls["hook_missing"]) {
		w.waiting(w.start(inv).WorkflowID)
	}
	calls["tool_changed"] = invocation("tool_changed", "test__change", `{"text":"hello"}`)
	w.retrying(w.start(calls["tool_changed"]).WorkflowID)
	stop()

	// One worker lacks a tool and a hook and has another version of the second tool; the next has everything.
	stop = w.work(worker.Tools(changed, hooked))
	for _, inv := range []toolspec.Invocation{lacking, calls["tool_missing"], calls["hook_missing"]} {
		w.approve(inv.Identity().WorkflowID())
	}
	// The first timer of each is that of its approval.
	w.shows(lacking, "timer", 2)
	r.waits(w, "waiting_worker", "timer", lacking)
	for _, shape := range []string{"tool_missing", "hook_missing"} {
		w.shows(calls[shape], "timer", 2)
	}
	stop()
	w.work(worker.Tools(changed, gone, hooked), gate)
	for shape, inv := range calls {
		wantText(t, w.invoke(inv), "hello")
		r.ended(w, shape, inv)
	}
}

// databaseAway records a call that is admitted while there is no database: its retries come to wait on a durable timer.
func (r *recorder) databaseAway(t *testing.T) {
	p := devstacktest.OwnPostgres(t)
	w := newWorldOn(t, devstacktest.Temporal(t), p.URL(), plainPolicy)
	w.work(worker.Tools(tool("test__read", echo, fast)))
	w.until(func() bool { return w.log.has("worker runs") }, "the worker runs")
	if err := p.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	inv := invocation("database_away", "test__read", `{"text":"hello"}`)
	call := w.start(inv)
	w.shows(inv, "timer", 1)
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantText(t, w.result(call), "hello")
	r.ended(w, "database_away", inv)
}
