package agentsastools

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

// TestLostRuns: the next sweeps end the recorded runs whose workflows were terminated. The child run ends first, so that its usage counts for its parent. The
// parent ends when none of its calls is open any more, with one done event. A run whose workflow goes on is not changed. A run whose record cannot be read
// ends its workflow with a result, and the sweep ends it in the record.
func TestLostRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead:     modelserver.Script(calls(delegate(research, "x")), say("done")),
		research: modelserver.Script(calls(echo("test__asked", "effect")), say("sent it")),
	})
	w.apply(lead, func(d *agent.Document) { d.Limits.Tokens = 10_000 }, "test__asked")
	w.apply(research, nil, "test__asked")
	tool := e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky)
	stop := w.work(tool)
	w.start(input("run"))
	w.Waiting(inside.WorkflowID())
	// A call that another program has started under the id of the run stays open.
	foreign := w.Start(toolspec.Invocation{ToolID: "test__asked", ToolCallID: "foreign", Args: []byte(`{"text":"x"}`), Context: input("run").Context})
	w.Waiting(foreign.WorkflowID)
	lives, broken := w.start(input("lives")), w.start(input("broken"))
	w.Waiting(invocation("lives", "r1-0.r1-0").WorkflowID())
	w.Waiting(invocation("broken", "r1-0.r1-0").WorkflowID())
	stop()
	child := childOf("run", "r1-0")
	for _, id := range []string{child, "run"} { // while no worker can answer
		if err := w.Temporal.TerminateWorkflow(t.Context(), agent.WorkflowID("acme", id), "", "a test"); err != nil {
			t.Fatal(err)
		}
	}
	w.work(tool)
	w.Until(func() bool { w.Sweep(); return w.ended(child) }, "the run of the agent ends")
	w.Sweep()
	if w.ended("run") || w.dones("run") != 0 {
		t.Error("the run has ended before its open call")
	}
	w.Approve(foreign.WorkflowID)
	e2etest.WantText(t, w.Result(foreign), "x")
	w.Until(func() bool { w.Sweep(); return w.ended("run") }, "the run ends")
	w.Sweep()
	for _, id := range []string{child, "run"} {
		if got := e2etest.Scalar[string](w.World, "SELECT result ->> 'outcome' || ': ' || (result ->> 'reason') FROM agent_runs WHERE run_id = $1", id); got != "failed: the workflow of the run was terminated" {
			t.Errorf("%s ended %s", id, got)
		}
	}
	// Each model was asked once, and read 10 tokens.
	if n := e2etest.Scalar[int](w.World, "SELECT input_tokens::int FROM agent_runs WHERE run_id = 'run'"); n != 20 {
		t.Errorf("the run has used %d tokens, want 20", n)
	}
	if w.dones("run") != 1 || w.ended("lives") || w.ended(childOf("lives", "r1-0")) {
		t.Errorf("%d done events, and the run that goes on has ended: %t", w.dones("run"), w.ended("lives"))
	}

	e2etest.Query[int](w.World, "UPDATE agent_rounds SET plan = '[]' WHERE run_id = 'broken' RETURNING 1")
	w.Approve(invocation("broken", "r1-0.r1-0").WorkflowID())
	if result := w.result(broken); result.Outcome != agent.Failed || result.Reason == "" {
		t.Errorf("the run without a record ended %+v", result)
	}
	if status := w.Describe(broken.WorkflowID()).GetWorkflowExecutionInfo().GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("its workflow is %s", status)
	}
	w.Until(func() bool { w.Sweep(); return w.ended("broken") }, "the run without a record ends")
	if w.dones("broken") != 1 {
		t.Errorf("%d done events", w.dones("broken"))
	}

	w.Approve(invocation("lives", "r1-0.r1-0").WorkflowID())
	if result := w.result(lives); result.Outcome != agent.Completed || result.Text != "done" {
		t.Errorf("the run ended %+v", result)
	}
}

// ended reports whether the record has the result of a run.
func (w *world) ended(runID string) bool {
	w.T.Helper()
	return e2etest.Scalar[bool](w.World, "SELECT ended_at IS NOT NULL FROM agent_runs WHERE run_id = $1", runID)
}

// dones counts the end events of a run.
func (w *world) dones(runID string) int {
	w.T.Helper()
	return e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM run_events WHERE run_id = $1 AND kind = 'done'", runID)
}
