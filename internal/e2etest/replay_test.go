package e2etest

import (
	"log/slog"
	"strings"
	"testing"

	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// replay runs the workflow's code over a history. It knows no hook, no tool and no policy: the plan in the history drives.
func (w *world) replay(workflowID string) {
	w.t.Helper()
	replayer := sdkworker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(workflows.InvokeTool, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	replayer.RegisterWorkflowWithOptions(workflows.Sweep, workflow.RegisterOptions{Name: workflows.SweepType})
	h := w.history(workflowID, "")
	if err := replayer.ReplayWorkflowHistory(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), h); err != nil {
		w.t.Errorf("%s does not replay: %v", workflowID, err)
	}
}

// TestReplay: histories of every shape of call replay.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plainPolicy, `"test__*"]`, `"test__w*", "test__r*"]`, 1))
	w.work(worker.Tools(
		tool("test__read", echo, fast), tool("test__write", echo, idempotent, risky), tool("test__denied", echo, fast),
	))
	calls := map[string]toolspec.Invocation{}
	for name, toolID := range map[string]string{
		"read": "test__read", "approved": "test__write", "denied": "test__denied", "cancelled": "test__write", "edited": "test__write",
	} {
		calls[name] = invocation(name, toolID, `{"text":"hello"}`)
	}
	wantText(t, w.invoke(calls["read"]), "hello")
	wantCode(t, w.invoke(calls["denied"]), toolspec.CodePolicyDenied)

	approved := w.start(calls["approved"])
	view := w.waiting(approved.WorkflowID)
	w.wantAnswer(approved, approval(view.ApprovalID, actor), "requester")
	w.approve(approved.WorkflowID)
	wantText(t, w.result(approved), "hello")

	edited := w.start(calls["edited"])
	view = w.waiting(edited.WorkflowID)
	w.wantAnswer(edited, toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: []byte(`{"text":"edited"}`),
	}, "")
	w.wantAnswer(edited, approval(w.waiting(edited.WorkflowID, view.ApprovalID).ApprovalID, ben), "")
	wantText(t, w.result(edited), "edited")

	cancelled := w.start(calls["cancelled"])
	w.waiting(cancelled.WorkflowID)
	if err := w.pawl.Cancel(t.Context(), cancelled.WorkflowID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.result(cancelled), toolspec.CodeCancelled)
	for _, inv := range calls {
		w.replay(inv.Identity().WorkflowID())
	}
}
