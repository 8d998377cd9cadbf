package agentsastools

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestGraphOfChildren: a run that a call starts belongs to the run of a graph of the calling run, if its agent has a graph (SP-33).
func TestGraphOfChildren(t *testing.T) {
	t.Parallel()
	for want, graph := range map[string]*agent.Graph{"": nil, "gr-1": {Name: "support", Version: "2"}} {
		w := newWorld(t, e2etest.PlainPolicy, scripts{lead: modelserver.Script(calls(delegate(research, "x")), say("done")), research: modelserver.Script(say("found"))})
		w.work()
		w.apply(lead, func(d *agent.Document) { d.Graph = &agent.Graph{Name: "support", Version: "1"} })
		w.apply(research, func(d *agent.Document) { d.Graph = graph })
		in := input("run")
		in.GraphRunID = "gr-1"
		if result := w.result(w.start(in)); result.Outcome != agent.Completed {
			t.Errorf("%v: the run ended %+v", graph, result)
		}
		if got := fmt.Sprint(e2etest.Query[string](w.World, "SELECT coalesce(shown->>'graphRunId', '') FROM agent_runs WHERE parent_run_id IS NOT NULL")); got != "["+want+"]" {
			t.Errorf("%v: the run that the call has started has %s", graph, got)
		}
	}
}
