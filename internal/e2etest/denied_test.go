package e2etest

import (
	"testing"

	steps "github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestDeniedByAWorkerThatDied: the denial is in the record, and the worker that wrote it died before it could say so. The call ends as
// denied, nobody is asked again, and the tool does not run.
func TestDeniedByAWorkerThatDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	view := w.waiting(call.WorkflowID)
	denial := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Deny, Approver: ann}
	before := w.record(inv)
	written, err := w.store.Review(t.Context(), steps.ReviewRow{
		InvocationID: before.InvocationID, TenantID: before.TenantID, ApprovalID: view.ApprovalID, Epoch: before.Epoch, Gate: before.Rounds.Gate + 1,
		Decision: &denial, Judge: func(steps.OpenRequest) (steps.Judgement, error) {
			return steps.Judgement{Answer: toolspec.Answer{Counted: true}, Final: true}, nil
		},
	})
	if err != nil || !written.Answer.Counted {
		t.Fatalf("%+v, %v", written, err)
	}
	// The new run knows what a task knows that is tried again: what is in the record.
	wantCode(t, w.resultOf(call.WorkflowID, w.reset(call.WorkflowID)), toolspec.CodeApprovalDenied)
	record := w.record(inv)
	if len(record.Approvals) != 1 || record.Outcome != string(toolspec.CodeApprovalDenied) || effects.of("send") != 0 {
		t.Errorf("%d requests, %s, %d effects; want one, denied, and none", len(record.Approvals), record.Outcome, effects.of("send"))
	}
}
