package takeovers

import (
	"testing"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestDeniedByAWorkerThatDied: a worker writes a denial to the record and dies before it can report that to Temporal. The call ends as denied, no new request is
// opened, and the tool does not run.
func TestDeniedByAWorkerThatDied(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	denial := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Deny, Approver: e2etest.Ann}
	before := w.Record(inv)
	owner := contract.WithExecution(t.Context(), contract.Execution{RunID: before.TemporalRunID, Local: true})
	written, err := approval.ReviewWith(owner, w.Store, approval.LookRow{
		InvocationID: before.InvocationID, TenantID: before.TenantID, ApprovalID: view.ApprovalID, Epoch: before.Epoch, Gate: before.Rounds.Gate + 1,
		Decision: &denial,
	}, func(approval.OpenRequest) (approval.Judgement, error) {
		return approval.Judgement{Answer: toolspec.Answer{Counted: true}, Final: true}, nil
	})
	if err != nil || !written.Answer.Counted {
		t.Fatalf("%+v, %v", written, err)
	}
	// A reset run knows only the record, like a workflow task that is repeated.
	e2etest.WantCode(t, w.ResultOf(call.WorkflowID, w.Reset(call.WorkflowID)), toolspec.CodeApprovalDenied)
	record := w.Record(inv)
	if len(record.Approvals) != 1 || record.Outcome != string(toolspec.CodeApprovalDenied) || effects.Of("send") != 0 {
		t.Errorf("%d requests, %s, %d effects; want one, denied, and none", len(record.Approvals), record.Outcome, effects.Of("send"))
	}
}
