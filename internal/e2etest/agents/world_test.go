package agents

import (
	"context"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/worker"
)

// world is a world with a scripted model.
type world struct {
	*e2etest.World
	model *modelserver.Server
}

// newWorld makes a world whose model answers as script says.
func newWorld(t *testing.T, format string, script func(modelserver.Request) modelserver.Reply) *world {
	t.Helper()
	return &world{e2etest.NewWorld(t, e2etest.PlainPolicy), modelserver.Serve(t, format, script)}
}

// work runs a worker that may ask the model.
func (w *world) work(tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	c := w.Config()
	c.ModelURLs = []string{w.model.URL.String()}
	return w.WorkWith(c, worker.Tools(tools...))
}

// document is an agent that asks the model of the world.
func (w *world) document(format string, tools ...string) agent.Document {
	return agent.Document{
		Name: "helper", Version: "1", Instructions: "Help.", Tools: tools,
		Model:  agent.Model{Format: format, Name: "model", URL: w.model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 20, Calls: 50, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}
}

// apply makes an agent the active one of its name.
func (w *world) apply(d agent.Document) {
	w.T.Helper()
	if _, err := w.Store.ApplyAgent(w.T.Context(), d, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
}

// input starts a run of the agent helper.
func input(runID, text string) agent.Input {
	return agent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: runID, ActorID: e2etest.Actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: text}}}},
	}
}

// run runs an agent to its end.
func (w *world) run(in agent.Input) agent.Result {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	result, err := w.Pawl.RunAgent(ctx, in)
	if err != nil {
		w.T.Fatal(err)
	}
	return result
}

// want fails the test unless a run ended like this.
func want(t *testing.T, got agent.Result, outcome agent.Outcome, text string) {
	t.Helper()
	if got.Outcome != outcome || got.Text != text {
		t.Errorf("the run ended %+v, want %s with the text %q", got, outcome, text)
	}
}
