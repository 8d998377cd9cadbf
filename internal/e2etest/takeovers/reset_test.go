package takeovers

import (
	"context"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestResetAfterTheEnd: after a reset, a settled call returns the result of its record. The test does this with a value, with a failure, and with a call that has
// an approval in its history.
func TestResetAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__read", effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent, e2etest.Risky),
		e2etest.Tool("test__fail", effects.Counted(func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{}, toolspec.Safef("no such thing")
		}), e2etest.Once),
	))
	for _, toolID := range []string{"test__read", "test__send", "test__write", "test__fail"} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			inv := e2etest.Invocation(toolID, toolID, `{"text":"hello"}`)
			call := w.Start(inv)
			if toolID == "test__write" {
				// The approval comes by a signal, because a reset delivers signals to the new run again.
				view := w.Waiting(call.WorkflowID)
				if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
					e2etest.Approving(view.ApprovalID, e2etest.Ann)); err != nil {
					t.Fatal(err)
				}
			}
			want, before := w.Result(call), effects.Of(toolID)
			if got := w.ResultOf(call.WorkflowID, w.Reset(call.WorkflowID)); !e2etest.SameResult(got, want) {
				t.Errorf("the reset run answered %+v, want %+v", got, want)
			}
			// On a busy machine a tool in the local lane may have run again before the end of the call.
			if n := effects.Of(toolID); n != before || n < 1 || n > 1 && toolID != "test__read" {
				t.Errorf("the tool ran %d times, and %d before the reset", n, before)
			}
			w.EventsOnce(1)
		})
	}
}

// TestResetWhileWaiting: when a waiting call is reset, its request stays open with the same id and digest, and one approval has one effect.
func TestResetWhileWaiting(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	first := w.Describe(call.WorkflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	runID := w.Reset(call.WorkflowID)
	again := w.Approve(call.WorkflowID)
	if again.ApprovalID != view.ApprovalID || again.Digest != view.Digest || again.ExpiresAtMs != view.ExpiresAtMs {
		t.Errorf("after the reset the request is %+v, want %+v", again, view)
	}
	e2etest.WantText(t, w.ResultOf(call.WorkflowID, runID), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	// Each run has a new epoch. On a busy machine a run may begin again, with one more epoch each time.
	most := 2 + w.TriedAgain(call.WorkflowID, first) + w.TriedAgain(call.WorkflowID, runID)
	if record := w.Record(inv); len(record.Approvals) != 1 || record.Epoch < 2 || record.Epoch > most {
		t.Errorf("%d requests and epoch %d, want 1 and 2 to %d", len(record.Approvals), record.Epoch, most)
	}
}

// TestResetAfterApproval: an approval that no worker has handled before the reset reaches the new run before the run opens its request, and counts once.
func TestResetAfterApproval(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	tools := worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	stop := w.Work(tools)
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	stop()
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
		e2etest.Approving(view.ApprovalID, e2etest.Ann)); err != nil {
		t.Fatal(err)
	}
	runID := w.Reset(call.WorkflowID)
	if n := e2etest.CountEvents(w.History(call.WorkflowID, runID), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED); n != 1 {
		t.Fatalf("the reset run has %d signals, want the one", n)
	}
	w.Work(tools)
	e2etest.WantText(t, w.ResultOf(call.WorkflowID, runID), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if a := w.Record(inv).Approvals; len(a) != 1 || a[0].ApprovalID != view.ApprovalID || a[0].Approver != e2etest.Ann {
		t.Errorf("approvals %+v, want %s by %s", a, view.ApprovalID, e2etest.Ann)
	}
}

// TestResetWhileRunning: if a call is reset while its tool runs, the effect may have happened, so a tool that must not be repeated does not run again.
func TestResetWhileRunning(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered, release := make(chan struct{}, 2), make(chan struct{})
	defer close(release)
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out,
		error) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return e2etest.Echo(ctx, in, call)
	}), e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	w.Approve(call.WorkflowID)
	e2etest.Receive(t, entered)
	r := w.ResultOf(call.WorkflowID, w.Reset(call.WorkflowID))
	e2etest.WantCode(t, r, toolspec.CodeOutcomeUnknown)
	if r.Details.Cause == "" {
		t.Error("nothing says why the outcome is unknown")
	}
	if n := effects.Of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if record := w.Record(inv); record.Outcome != "outcome_unknown" {
		t.Errorf("the record ended %q", record.Outcome)
	}
	w.EventsOnce(1)
}

// TestResetWithUpdate: a decision that came as an update is delivered to the new run again. It counts once, both after the end of the call and while the tool
// runs.
func TestResetWithUpdate(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered := make(chan struct{}, 1)
	w.Work(worker.Tools(
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__write", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if effects.Add(call) > 1 {
				return e2etest.Echo(ctx, in, call)
			}
			entered <- struct{}{}
			<-ctx.Done()
			return e2etest.Out{}, ctx.Err()
		}, e2etest.Idempotent, e2etest.Risky),
	))
	for name, c := range map[string]struct {
		toolID string
		runs   int
		before func(w *e2etest.World, call *pawl.Call)
	}{
		"after the end":  {"test__send", 1, func(w *e2etest.World, call *pawl.Call) { e2etest.WantText(w.T, w.Result(call), "hello") }},
		"during execute": {"test__write", 2, func(w *e2etest.World, _ *pawl.Call) { e2etest.Receive(w.T, entered) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			inv := e2etest.Invocation(c.toolID, c.toolID, `{"text":"hello"}`)
			call := w.Start(inv)
			w.Approve(call.WorkflowID)
			c.before(&w, call)
			runID := w.Reset(call.WorkflowID)
			if n := e2etest.CountEvents(w.History(call.WorkflowID, runID), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED); n != 1 {
				t.Errorf("the reset run has %d updates, want the one", n)
			}
			r := w.ResultOf(call.WorkflowID, runID)
			e2etest.WantText(t, r, "hello")
			record := w.Record(inv)
			if !e2etest.SameResult(r, *record.Result) || effects.Of(c.toolID) != c.runs {
				t.Errorf("%d runs and the result %+v, want %d and %+v", effects.Of(c.toolID), r, c.runs, record.Result)
			}
			if a := record.Approvals; len(a) != 1 || len(a[0].Decisions) != 1 || !a[0].Decisions[0].Counted {
				t.Errorf("requests %+v, want one with one decision", a)
			}
			w.Replay(call.WorkflowID)
		})
	}
}

// TestResetUnderUpdate: an update that no worker has handled is lost when its run is reset. The client notices that the call has not ended, and sends the update
// again.
func TestResetUnderUpdate(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	tools := worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	stop := w.Work(tools)
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	w.Waiting(call.WorkflowID)
	stop()
	reply := decideMeanwhile(w, call)
	runID := w.Reset(call.WorkflowID)
	w.Work(tools)
	if answer, err := reply(); err != nil || !answer.Counted {
		t.Fatalf("the decision: %+v and %v, want that it counts", answer, err)
	}
	e2etest.WantText(t, w.ResultOf(call.WorkflowID, runID), "hello")
	if a := w.Record(inv).Approvals; effects.Of("send") != 1 || len(a) != 1 || a[0].State != "approved" {
		t.Errorf("%d effects and the requests %+v, want one of each", effects.Of("send"), a)
	}
}
