package agentsastools

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/agent"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// asking returns a world whose agent research calls a tool that needs an approval.
func asking(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead:     modelserver.Script(calls(delegate(research, "x")), say("done")),
		research: modelserver.Script(calls(echo("test__asked", "effect")), say("sent it")),
	})
	w.apply(lead, nil, "test__asked")
	w.apply(research, nil, "test__asked")
	return w
}

// inside is the call of the agent research, in the run with the id run.
var inside = invocation("run", "r1-0.r1-0")

// TestApprovalInside: a request for an approval in the child run pauses both runs. The state of the calling run names the child run, the actor of the run
// cannot approve the request, and when the worker is killed meanwhile, nothing is lost or repeated (GT-05, C-36).
func TestApprovalInside(t *testing.T) {
	t.Parallel()
	w := asking(t)
	first := w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
	run := w.start(input("run"))
	view := w.Waiting(inside.WorkflowID())
	state, err := w.Pawl.AgentState(t.Context(), "acme", "run")
	if err != nil || len(state.Calls) != 1 || state.Calls[0].ToolID != agent.RunTool || state.Calls[0].AgentRunID != childOf("run", "r1-0") {
		t.Fatalf("the state of the run is %+v, %v", state, err)
	}
	state, err = w.Pawl.AgentState(t.Context(), "acme", state.Calls[0].AgentRunID)
	if err != nil || len(state.Calls) != 1 || state.Calls[0].WorkflowID != inside.WorkflowID() {
		t.Fatalf("the state of the run of the agent is %+v, %v", state, err)
	}
	for runID, want := range map[string]int{"run": 1, "other": 0, "": 1} {
		if open, err := w.Store.Approvals(t.Context(), pawl.ApprovalFilter{TenantID: "acme", RunID: runID}); err != nil || len(open) != want || want == 1 && open[0].ApprovalID != view.ApprovalID {
			t.Errorf("the run %q waits for %+v, %v", runID, open, err)
		}
	}
	if answer := w.Decide(inside.WorkflowID(), e2etest.Approving(view.ApprovalID, e2etest.Actor)); answer.Counted {
		t.Error("the agent approved its own call")
	}
	e2etest.Kill(first)
	w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
	w.Approve(inside.WorkflowID())
	w.wantSent(run)
}

// TestWorkerKilledAtStart: the worker is killed while the database writes the run of the child. Another worker goes on. There is one child run, and no model is asked twice for
// the same response.
func TestWorkerKilledAtStart(t *testing.T) {
	t.Parallel()
	w := asking(t)
	isHeld, release := w.Hold("INSERT ON agent_runs FOR EACH ROW WHEN (NEW.parent_run_id IS NOT NULL)")
	first := w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
	run := w.start(input("run"))
	w.Until(isHeld, "the child run is being written")
	e2etest.Kill(first)
	release()
	w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
	w.Approve(inside.WorkflowID())
	w.wantSent(run)
}

// wantSent fails the test unless the run has the answer of the child run, once.
func (w *world) wantSent(run *pawl.AgentRun) {
	w.T.Helper()
	if result := w.result(run); result.Outcome != agent.Completed || result.Text != "done" {
		w.T.Errorf("the run ended %+v", result)
	}
	wantHas(w.T, w.answers(lead)[0], `"text":"sent it"`)
	w.wantOnce()
}

// wantOnce fails the test unless each model was asked twice, there was one child run, and the record has the two calls of the run.
func (w *world) wantOnce() {
	w.T.Helper()
	if w.asked(lead) != 2 || w.asked(research) != 2 || w.children() != 1 {
		w.T.Errorf("lead was asked %d times and research %d times, in %d runs", w.asked(lead), w.asked(research), w.children())
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::integer FROM invocations WHERE run_id = 'run'"); n != 2 {
		w.T.Errorf("the record has %d calls", n)
	}
}

// TestReset: a calling run that is reset waits for the child run that is running, and does not start it a second time.
func TestReset(t *testing.T) {
	t.Parallel()
	w := asking(t)
	ledger := &e2etest.Ledger{}
	w.work(e2etest.Tool("test__asked", ledger.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	run := w.start(input("run"))
	w.Waiting(inside.WorkflowID())
	w.Reset(run.WorkflowID())
	w.Until(func() bool {
		state, err := w.Pawl.AgentState(t.Context(), "acme", "run")
		return err == nil && len(state.Calls) == 1 && state.Calls[0].AgentRunID != ""
	}, "the reset run waits for the agent")
	w.Approve(inside.WorkflowID())
	if result := w.result(w.Pawl.AttachAgent(t.Context(), "acme", "run")); result.Outcome != agent.Completed || result.Text != "done" {
		t.Errorf("the run ended %+v", result)
	}
	w.wantOnce()
	if n := ledger.Of(inside.ToolCallID); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// TestStops: after an interrupt, a cancellation, or the end of the workflow of the child run, both runs end, and no budget stays reserved.
func TestStops(t *testing.T) {
	for name, c := range map[string]struct {
		stop           func(*world, *pawl.AgentRun) error
		outcome, child agent.Outcome
		then           bool
	}{
		"cancel":    {func(w *world, _ *pawl.AgentRun) error { return w.Pawl.CancelAgent(w.T.Context(), "acme", "run") }, agent.Cancelled, agent.Cancelled, false},
		"interrupt": {func(w *world, _ *pawl.AgentRun) error { return w.Pawl.InterruptAgent(w.T.Context(), "acme", "run") }, agent.Interrupted, agent.Interrupted, true},
		"terminate the agent": {func(w *world, _ *pawl.AgentRun) error {
			return w.Temporal.TerminateWorkflow(w.T.Context(), agent.WorkflowID("acme", childOf("run", "r1-0")), "", "a test")
		}, agent.Completed, agent.Cancelled, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asking(t)
			w.work(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Risky))
			run := w.start(input("run"))
			w.Waiting(inside.WorkflowID())
			if err := c.stop(w, run); err != nil {
				t.Fatal(err)
			}
			if c.then { // an interrupt lets the call end
				w.Until(func() bool {
					return e2etest.CountEvents(w.History(agent.WorkflowID("acme", childOf("run", "r1-0")), ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) == 1
				}, "the interrupt reaches the agent")
				w.Approve(inside.WorkflowID())
			}
			if result := w.result(run); result.Outcome != c.outcome {
				t.Errorf("the run ended %+v", result)
			}
			got := e2etest.Scalar[string](w.World, "SELECT result ->> 'outcome' FROM agent_runs WHERE parent_run_id = 'run'")
			if got != string(c.child) {
				t.Errorf("the run of the agent ended %s", got)
			}
		})
	}
}
