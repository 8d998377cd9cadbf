package flows

import (
	"context"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestKilledWorker: the worker of the user is killed while the call of its workflow waits for a person. Another
// worker of the user goes on, and there is one call.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	w := world{e2etest.NewWorld(t, e2etest.PlainPolicy)}
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	serve := func() (kill func()) {
		cmd := w.Child(context.WithoutCancel(t.Context()), team)
		cmd.Stderr = w.Log
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill = func() { e2etest.Kill(cmd) }
		t.Cleanup(kill)
		return kill
	}
	kill := serve()
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	run := w.run(oneCall, inv)
	w.Waiting(inv.Identity().WorkflowID())
	kill()
	w.Approve(inv.Identity().WorkflowID())
	serve()
	e2etest.WantText(t, get[toolspec.Result](w, run), "hello")
	events := w.History(run.GetID(), run.GetRunID())
	if n := e2etest.CountEvents(events, enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED); n != 1 || effects.Of("send") != 1 {
		t.Errorf("%d calls and %d effects", n, effects.Of("send"))
	}
}

// TestResetCaller: a workflow of the user is reset to a point before its call, after the end of the call and while
// the call waits for a person. There is one effect, and the result is the same.
func TestResetCaller(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"settled": false, "open": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var effects e2etest.Ledger
			w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
			inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
			run := w.run(oneCall, inv)
			view := w.Waiting(inv.Identity().WorkflowID())
			if open {
				again := w.Temporal.GetWorkflow(t.Context(), run.GetID(), w.Reset(run.GetID()))
				w.History(again.GetID(), again.GetRunID())
				if now := w.Approve(inv.Identity().WorkflowID()); now.ApprovalID != view.ApprovalID {
					t.Errorf("the request %s follows %s", now.ApprovalID, view.ApprovalID)
				}
				e2etest.WantText(t, get[toolspec.Result](w, again), "hello")
			} else {
				w.Approve(inv.Identity().WorkflowID())
				want := get[toolspec.Result](w, run)
				got := get[toolspec.Result](w, w.Temporal.GetWorkflow(t.Context(), run.GetID(), w.Reset(run.GetID())))
				if !e2etest.SameResult(got, want) {
					t.Errorf("after the reset %+v, want %+v", got, want)
				}
			}
			if n := effects.Of("send"); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			if record := w.Record(inv); len(record.Approvals) != 1 || record.Outcome != "ok" {
				t.Errorf("%d requests, outcome %q", len(record.Approvals), record.Outcome)
			}
		})
	}
}

// TestCancelledCaller: the call of a workflow that is cancelled ends as cancelled, and so does a call that the
// workflow has joined. The workflow of the user gets the result.
func TestCancelledCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	for name, joined := range map[string]bool{"started": false, "joined": true} {
		inv := e2etest.Invocation(name, "test__send", `{"text":"hello"}`)
		if joined {
			w.Start(inv)
		}
		run := w.run(oneCall, inv)
		w.Waiting(inv.Identity().WorkflowID())
		if joined {
			w.pending(run.GetID(), "joinCall")
		}
		if err := w.Temporal.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
			t.Fatal(err)
		}
		got := get[toolspec.Result](w, run)
		e2etest.WantCode(t, got, toolspec.CodeCancelled)
		if got.InvocationID != inv.Identity().InvocationID() || w.Record(inv).Outcome != "cancelled" || effects.Of(name) != 0 {
			t.Errorf("%s: %+v, the record ended %q", name, got, w.Record(inv).Outcome)
		}
	}
	// A caller with another input does not stop the call.
	inv := e2etest.Invocation("kept", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	w.Waiting(call.WorkflowID)
	run := w.run(oneCall, e2etest.Invocation("kept", "test__send", `{"text":"other"}`))
	w.pending(run.GetID(), "joinCall")
	if err := w.Temporal.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "hello")
	e2etest.WantCode(t, get[toolspec.Result](w, run), toolspec.CodeConflict)
}

// TestCallerLeaves: when the workflow that has started a call is terminated, ends or continues as new, nobody waits
// for the call any more, and the call is asked to stop.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	for _, way := range []string{"terminated", "ended", "continued"} {
		inv := e2etest.Invocation(way, "test__send", `{"text":"hello"}`)
		run := w.run(leaving, inv, way == "continued")
		w.Waiting(inv.Identity().WorkflowID())
		var err error
		if way == "terminated" {
			err = w.Temporal.TerminateWorkflow(t.Context(), run.GetID(), "", "a test")
		} else {
			err = w.Temporal.SignalWorkflow(t.Context(), run.GetID(), "", "leave", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Closed(inv)
		if record := w.Record(inv); record.Outcome != "cancelled" || effects.Of(way) != 0 {
			t.Errorf("%s: the call ended %q, with %d effects", way, record.Outcome, effects.Of(way))
		}
	}
}

// TestTerminatedCall: the workflow of the user gets the result outcome_unknown for a call that is terminated.
func TestTerminatedCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Work(worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	run := w.run(oneCall, inv)
	w.Waiting(inv.Identity().WorkflowID())
	w.Terminate(inv)
	got := get[toolspec.Result](w, run)
	e2etest.WantCode(t, got, toolspec.CodeOutcomeUnknown)
	if got.InvocationID != inv.Identity().InvocationID() || got.ToolCallID != "send" || got.InputDigest == "" {
		t.Errorf("%+v", got)
	}
}
