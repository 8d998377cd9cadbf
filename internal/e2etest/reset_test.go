package e2etest

import (
	"context"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// reset runs a call again from its first workflow task, with the temporal program, and returns the new run.
func (w *world) reset(workflowID string) (runID string) {
	w.t.Helper()
	before := w.describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	w.mustCLI("workflow", "reset", "--workflow-id", workflowID, "--type", "FirstWorkflowTask", "--reason", "a test")
	w.until(func() bool {
		runID = w.describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return runID != before
	}, "the reset run is the current one")
	return runID
}

// resultOf waits for a run to complete.
func (w *world) resultOf(workflowID, runID string) toolspec.Result {
	w.t.Helper()
	return w.ended(w.temporal.GetWorkflow(w.t.Context(), workflowID, runID))
}

// TestResetAfterTheEnd: a settled call answers from its record, with a value, a failure, or an approval in its history.
func TestResetAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(
		tool("test__read", effects.counted(echo), fast),
		tool("test__send", effects.counted(echo), once),
		tool("test__write", effects.counted(echo), idempotent, risky),
		tool("test__fail", effects.counted(func(context.Context, in, toolspec.Call) (out, error) {
			return out{}, toolspec.Safef("no such thing")
		}), once),
	))
	for _, toolID := range []string{"test__read", "test__send", "test__write", "test__fail"} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			inv := invocation(toolID, toolID, `{"text":"hello"}`)
			call := w.start(inv)
			if toolID == "test__write" {
				// A signal: a reset gives it to the new run again.
				view := w.waiting(call.WorkflowID)
				if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(view.ApprovalID, ann)); err != nil {
					t.Fatal(err)
				}
			}
			want, before := w.result(call), effects.of(toolID)
			if got := w.resultOf(call.WorkflowID, w.reset(call.WorkflowID)); !same(got, want) {
				t.Errorf("the reset run answered %+v, want %+v", got, want)
			}
			// In the local lane a busy machine may have run it again before the end.
			if n := effects.of(toolID); n != before || n < 1 || n > 1 && toolID != "test__read" {
				t.Errorf("the tool ran %d times, and %d before the reset", n, before)
			}
		})
	}
}

// TestResetWhileWaiting: the request stays the same one, with the same id and digest, and one approval has one effect.
func TestResetWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	view := w.waiting(call.WorkflowID)
	first := w.describe(call.WorkflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	runID := w.reset(call.WorkflowID)
	again := w.approve(call.WorkflowID)
	if again.ApprovalID != view.ApprovalID || again.Digest != view.Digest || again.ExpiresAtMs != view.ExpiresAtMs {
		t.Errorf("after the reset the request is %+v, want %+v", again, view)
	}
	wantText(t, w.resultOf(call.WorkflowID, runID), "hello")
	if n := effects.of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	// Each run has an epoch of its own, and more where a busy machine made it begin anew.
	most := 2 + w.triedAgain(call.WorkflowID, first) + w.triedAgain(call.WorkflowID, runID)
	if record := w.record(inv); len(record.Approvals) != 1 || record.Epoch < 2 || record.Epoch > most {
		t.Errorf("%d requests and epoch %d, want 1 and 2 to %d", len(record.Approvals), record.Epoch, most)
	}
}

// TestResetAfterApproval: an approval that nobody had taken in yet comes to the new run before the run asks, and counts once.
func TestResetAfterApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	tools := worker.Tools(tool("test__send", effects.counted(echo), once, risky))
	stop := w.work(tools)
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	view := w.waiting(call.WorkflowID)
	stop()
	if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(view.ApprovalID, ann)); err != nil {
		t.Fatal(err)
	}
	runID := w.reset(call.WorkflowID)
	if n := count(w.history(call.WorkflowID, runID), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED); n != 1 {
		t.Fatalf("the reset run has %d signals, want the one", n)
	}
	w.work(tools)
	wantText(t, w.resultOf(call.WorkflowID, runID), "hello")
	if n := effects.of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if a := w.record(inv).Approvals; len(a) != 1 || a[0].ApprovalID != view.ApprovalID || a[0].Approver != ann {
		t.Errorf("approvals %+v, want %s by %s", a, view.ApprovalID, ann)
	}
}

// TestResetWhileRunning: the effect may have happened, so a tool that must not repeat it is not run again.
func TestResetWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	entered, release := make(chan struct{}, 2), make(chan struct{})
	defer close(release)
	w.work(worker.Tools(tool("test__send", effects.counted(func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return echo(ctx, in, call)
	}), once, risky)))
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	w.approve(call.WorkflowID)
	receive(t, entered)
	r := w.resultOf(call.WorkflowID, w.reset(call.WorkflowID))
	wantCode(t, r, toolspec.CodeOutcomeUnknown)
	if r.Details.Cause == "" {
		t.Error("nothing says why the outcome is unknown")
	}
	if n := effects.of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if record := w.record(inv); record.Outcome != "outcome_unknown" {
		t.Errorf("the record ended %q", record.Outcome)
	}
}

// TestResetWithUpdate: a decision that came as an update is given to the new run again. It counts once, whether the call is over by then,
// or the tool runs.
func TestResetWithUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	entered := make(chan struct{}, 1)
	w.work(worker.Tools(
		tool("test__send", effects.counted(echo), once, risky),
		tool("test__write", func(ctx context.Context, in in, call toolspec.Call) (out, error) {
			if effects.add(call) > 1 {
				return echo(ctx, in, call)
			}
			entered <- struct{}{}
			<-ctx.Done()
			return out{}, ctx.Err()
		}, idempotent, risky),
	))
	for name, c := range map[string]struct {
		toolID string
		runs   int
		before func(w *world, call *pawl.Call)
	}{
		"after the end":  {"test__send", 1, func(w *world, call *pawl.Call) { wantText(w.t, w.result(call), "hello") }},
		"during execute": {"test__write", 2, func(w *world, _ *pawl.Call) { receive(w.t, entered) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			inv := invocation(c.toolID, c.toolID, `{"text":"hello"}`)
			call := w.start(inv)
			w.approve(call.WorkflowID)
			c.before(&w, call)
			runID := w.reset(call.WorkflowID)
			if n := count(w.history(call.WorkflowID, runID), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED); n != 1 {
				t.Errorf("the reset run has %d updates, want the one", n)
			}
			r := w.resultOf(call.WorkflowID, runID)
			wantText(t, r, "hello")
			record := w.record(inv)
			if !same(r, *record.Result) || effects.of(c.toolID) != c.runs {
				t.Errorf("%d runs and the result %+v, want %d and %+v", effects.of(c.toolID), r, c.runs, record.Result)
			}
			if a := record.Approvals; len(a) != 1 || len(a[0].Decisions) != 1 || !a[0].Decisions[0].Counted {
				t.Errorf("requests %+v, want one with one decision", a)
			}
			w.replay(call.WorkflowID)
		})
	}
}

// TestResetUnderUpdate: an update that no worker has taken in goes down with the run that is reset. The client finds that the call is not
// over, and sends it again.
func TestResetUnderUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	tools := worker.Tools(tool("test__send", effects.counted(echo), once, risky))
	stop := w.work(tools)
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	w.waiting(call.WorkflowID)
	stop()
	reply := w.decideMeanwhile(call)
	runID := w.reset(call.WorkflowID)
	w.work(tools)
	if answer, err := reply(); err != nil || !answer.Counted {
		t.Fatalf("the decision: %+v and %v, want that it counts", answer, err)
	}
	wantText(t, w.resultOf(call.WorkflowID, runID), "hello")
	if a := w.record(inv).Approvals; effects.of("send") != 1 || len(a) != 1 || a[0].State != "approved" {
		t.Errorf("%d effects and the requests %+v, want one of each", effects.of("send"), a)
	}
}
