package agents

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestGraph: only the run of an agent with a graph has the id of a run of it (SP-33). The record has the graph, its version, this id and the digest of the
// prompt, so that runs can be compared (OB-07).
func TestGraph(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", func(modelserver.Request) modelserver.Reply { return modelserver.Reply{Text: "done"} })
	w.work(e2etest.Tool("test__echo", e2etest.Echo), e2etest.Tool("test__other", e2etest.Echo))
	plain := w.document("openai", "test__echo")
	plain.Version = "0"
	w.apply(plain)
	refused := input("plain", "go")
	refused.GraphRunID = "gr-1"
	if result := w.run(refused); result.Outcome != agent.Failed || !strings.Contains(result.Reason, "graphRunId needs an agent with the name and the version of a graph") || w.model.Asked(0) != 0 {
		t.Errorf("the run of an agent without a graph ended %+v", result)
	}

	of := func(version string, tools ...string) client.AgentRunRecord {
		t.Helper()
		d := w.document("openai", tools...)
		d.Version, d.Graph = version, &agent.Graph{Name: "support", Version: version}
		w.apply(d)
		in := input("run-"+version, "go")
		in.GraphRunID, in.Context.GraphID = "gr-"+version, "g"
		want(t, w.run(in), agent.Completed, "done")
		r, err := w.Store.ShowAgentRun(t.Context(), client.RoundFilter{TenantID: "acme", RunID: in.Context.RunID})
		if err != nil {
			t.Fatal(err)
		}
		if r.Graph != "support" || r.GraphVersion != version || r.GraphRunID != "gr-"+version || r.GraphID != "g" || r.PromptHash == "" {
			t.Errorf("the record has %+v", r.AgentRunSummary)
		}
		return r
	}
	one, two, more := of("1", "test__echo"), of("2", "test__echo"), of("3", "test__echo", "test__other")
	if one.PromptHash != two.PromptHash || one.PromptHash == more.PromptHash {
		t.Errorf("the digests of the prompts are %s, %s and, with another tool, %s", one.PromptHash, two.PromptHash, more.PromptHash)
	}
	has(t, w.pawl("", "agent", "runs", "show", "run-1").out, "support 1", "gr-1")
	p := w.pawl("", "agent", "run", "helper", "go", "--graph-run", "gr-4", "--run", "r4")
	if r, err := w.Store.ShowAgentRun(t.Context(), client.RoundFilter{TenantID: "acme", RunID: "r4"}); err != nil || p.status != 0 || r.GraphRunID != "gr-4" {
		t.Errorf("%+v: the record has %+v, %v", p, r.AgentRunSummary, err)
	}
}
