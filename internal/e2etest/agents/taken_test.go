package agents

import (
	"errors"
	"testing"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestTakenRunIDs: a start attaches to an existing run only if that run has the same input. It is an error if the id belongs to a run with another input, to a
// workflow of another type or to a run on another task queue, both while that workflow runs and after its end. A handle that is attached by the id gives a
// result only if the workflow is a run of an agent.
func TestTakenRunIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", func(modelserver.Request) modelserver.Reply { return modelserver.Reply{Text: "mine"} })
	w.work()
	w.apply(w.document("openai"))
	start := func(workflowType, queue string, in agent.Input) {
		t.Helper()
		if _, err := w.Temporal.ExecuteWorkflow(t.Context(), temporal.StartWorkflowOptions{ID: agent.WorkflowID("acme", in.Context.RunID), TaskQueue: queue}, workflowType, in); err != nil {
			t.Fatal(err)
		}
	}
	start("Stranger", "strangers", input("stranger", "go"))
	start(agent.WorkflowType, "strangers", input("elsewhere", "go"))
	in := input("run", "go")
	want(t, w.run(in), agent.Completed, "mine")
	other, elsewhere := input("run", "another"), input("run", "go")
	elsewhere.Context.ActorID = "user:mallory"
	for name, in := range map[string]agent.Input{
		"another type": input("stranger", "go"), "another queue": input("elsewhere", "go"), "another text": other, "another actor": elsewhere,
	} {
		if _, err := w.Pawl.StartAgent(t.Context(), in); !errors.Is(err, client.ErrOtherRun) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	// A handle of a run that was started before has no input to compare.
	for _, id := range []string{"stranger", "elsewhere"} {
		if _, err := w.Pawl.AgentResult(t.Context(), w.Pawl.AttachAgent(t.Context(), "acme", id)); !errors.Is(err, client.ErrOtherRun) {
			t.Errorf("the result of %s has the error %v", id, err)
		}
	}
	want(t, w.result(w.Pawl.AttachAgent(t.Context(), "acme", "run")), agent.Completed, "mine")
	want(t, w.run(in), agent.Completed, "mine")
	if n := w.model.Asked(0); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
