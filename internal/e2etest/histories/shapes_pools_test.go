package histories

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// pools records the two runs of a call that moves to the task queue of a pool, with a decision that arrived before the move. It also records a call that waits
// for an approval after its move, and a call that waits on the shared task queue because no worker of the pool runs.
func (r *recorder) pools(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	stop := workInPool(w, e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky), pooledTool(e2etest.Echo))
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

	inv = e2etest.Invocation("waiting_in_pool", "test__clip", `{"text":"hello"}`)
	call = w.Start(inv)
	w.Waiting(call.WorkflowID)
	if queue := w.Describe(call.WorkflowID).GetWorkflowExecutionInfo().GetTaskQueue(); queue != "pawl-media" {
		t.Fatalf("the call waits on the task queue %s", queue)
	}
	r.waits(w, "waiting_in_pool", "timer", inv)

	stop()
	e2etest.Query[string](w, `UPDATE workers SET seen_at = now() - interval '1 minute' WHERE pool = 'media' RETURNING pool`)
	inv = e2etest.Invocation("waiting_pool", "test__clip", `{"text":"hello"}`)
	w.Start(inv)
	r.waits(w, "waiting_pool", "timer", inv)
}

// pooledTool returns the tool that only the workers of the pool "media" have.
func pooledTool(f e2etest.Run) toolspec.Tool {
	return e2etest.Tool("test__clip", f, e2etest.Once, e2etest.Risky)
}

// workInPool runs a worker of the pool "media", and waits until it has published its tools.
func workInPool(w *e2etest.World, tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	c := w.Config()
	c.Pool = "media"
	stop = w.WorkWith(c, worker.Tools(tools...))
	for _, one := range tools {
		w.Until(func() bool {
			return e2etest.Scalar[int](w, `SELECT count(*)::int FROM worker_tools WHERE tool_id = $1`, one.Definition().ID) == 1
		}, "the worker of the pool has published "+one.Definition().ID)
	}
	return stop
}
