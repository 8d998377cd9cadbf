package histories

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// pools records the two runs of a call that moves to the task queue of a pool, with a decision that arrived before the move.
func (r *recorder) pools(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	c := w.Config()
	c.Pool = "media"
	w.WorkWith(c, worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM worker_tools WHERE tool_id = 'test__send'`) == 1
	}, "the worker of the pool has published its tool")
	inv := e2etest.Invocation("moved", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	first := w.Describe(call.WorkflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	d := toolspec.Decision{ApprovalID: toolspec.ApprovalID(call.InvocationID, 1), Decision: toolspec.Approve, Approver: e2etest.Ann}
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
		t.Fatal(err)
	}
	w.Work()
	w.Result(call)
	r.take(w, "moved", w.History(call.WorkflowID, first))
	r.ended(w, "moved_here", inv)
}
