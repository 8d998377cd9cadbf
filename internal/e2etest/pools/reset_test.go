package pools

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestResetAfterAMove: a reset of the run in the pool, and a reset of the run before it, cause no second effect, and the approval still counts.
func TestResetAfterAMove(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work()
	inPool(w, "media", e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))

	call := w.Start(e2etest.Invocation("send", "test__send", `{"text":"hello"}`))
	first := w.Waiting(call.WorkflowID)
	start := w.History(call.WorkflowID, "").GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	inPoolRun := w.Reset(call.WorkflowID)
	if view := w.Waiting(call.WorkflowID); view.ApprovalID != first.ApprovalID || queues(w, call.WorkflowID) != "pawl pawl-media" {
		t.Errorf("after a reset of the run in the pool it waits for %s, want %s; it was on %s", view.ApprovalID, first.ApprovalID, queues(w, call.WorkflowID))
	}
	w.MustCLI("workflow", "reset", "--workflow-id", call.WorkflowID, "--run-id", start.GetContinuedExecutionRunId(), "--type", "FirstWorkflowTask", "--reason", "a test")
	w.Until(func() bool {
		info := w.Describe(call.WorkflowID).GetWorkflowExecutionInfo()
		return info.GetExecution().GetRunId() != inPoolRun && info.GetTaskQueue() == "pawl-media"
	}, "a run of the reset first run is in the pool")
	if view := w.Approve(call.WorkflowID); view.ApprovalID != first.ApprovalID {
		t.Errorf("after a reset of the first run it waits for %s, want %s", view.ApprovalID, first.ApprovalID)
	}
	run := w.Temporal.GetWorkflow(t.Context(), call.WorkflowID, "")
	if result := w.Ended(run); !result.OK || effects.Of("send") != 1 {
		t.Fatalf("it ended with %+v after %d effects", result, effects.Of("send"))
	}
	w.Reset(call.WorkflowID)
	if result := w.Ended(w.Temporal.GetWorkflow(t.Context(), call.WorkflowID, "")); !result.OK || effects.Of("send") != 1 {
		t.Errorf("after a reset of the run that has ended, it ends with %+v after %d effects", result, effects.Of("send"))
	}
	if record := w.Record(e2etest.Invocation("send", "test__send", `{"text":"hello"}`)); record.Result == nil || !record.Result.OK || record.Status != toolspec.StatusSettled {
		t.Errorf("the record has %+v", record)
	}
}
