package deploycheck

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/agent"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// TestMonitoringOfModels: a real Prometheus reads a worker whose provider of models refuses requests. The alert fires, and ends when the
// provider answers again. The time of the rules runs slower than in TestMonitoring, because this rule looks at the rate of five minutes.
func TestMonitoringOfModels(t *testing.T) {
	t.Parallel()
	program := needProgram(t, "prometheus")
	w := &watchedWorld{World: e2etest.NewWorld(t, e2etest.PlainPolicy)}
	w.vault = e2etest.NewVault(w.World) // its key ring: a tool of the worker has a connection
	var overloaded atomic.Bool
	model := modelserver.Serve(t, "anthropic", func(modelserver.Request) modelserver.Reply {
		if overloaded.Load() {
			return modelserver.Reply{Status: 529, Text: "overloaded"}
		}
		return modelserver.Reply{Text: "done"}
	})
	w.applyHelper(model)
	at := devstacktest.FreeAddress(t)
	w.ServeInChildWith("PAWL_HEALTH_LISTEN="+at, "PAWL_WORKSPACE="+w.Workspace, "PAWL_MODEL_URLS="+model.URL.String())
	p := startPrometheus(t, program, steady, at)
	w.RunResult(w.asks())
	if p.firing()["PawlModelsFail"] {
		t.Error("the alert fires without a fault")
	}
	overloaded.Store(true)
	p.fire(t, w.World, every(func() { w.asks() }), "PawlModelsFail")
	overloaded.Store(false)
	p.clear(t, w.World, "PawlModelsFail")
	if len(p.broken) > 0 {
		t.Errorf("annotations of alerts are faulty: %q", p.broken)
	}
}

// applyHelper makes an agent that asks the model and has no tools.
func (w *watchedWorld) applyHelper(model *modelserver.Server) {
	w.T.Helper()
	if _, err := w.Store.ApplyAgent(w.T.Context(), agent.Document{
		Name: "helper", Version: "1", Instructions: "Help.",
		Model:  agent.Model{Format: "anthropic", Name: "model", URL: model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 5, Calls: 5, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
}

// asks starts a run of the agent.
func (w *watchedWorld) asks() *pawl.AgentRun {
	w.T.Helper()
	w.n++
	return w.StartRun(agent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: fmt.Sprint("run-", w.n), ActorID: e2etest.Actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "Help me."}}}},
	})
}
