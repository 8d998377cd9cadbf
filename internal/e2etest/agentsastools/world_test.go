package agentsastools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/worker"
)

// These are the names of the agents of these tests, and also of their models. The agent lead can run the agent research.
const lead, research = "lead", "research"

// world is a world with the agents lead and research, and a scripted model for each.
type world struct {
	*e2etest.World
	model *modelserver.Server
}

// newWorld makes a world with a script for each model, by the name of the model.
func newWorld(t *testing.T, rules string, scripts map[string]func(modelserver.Request) modelserver.Reply) *world {
	t.Helper()
	w := &world{World: e2etest.NewWorld(t, rules)}
	w.model = modelserver.Serve(t, "openai", func(r modelserver.Request) modelserver.Reply {
		script, ok := scripts[r.Model]
		if !ok {
			return modelserver.Reply{Status: 400, Text: "no script for " + r.Model}
		}
		return script(r)
	})
	return w
}

// work runs a worker that is configured to ask the models.
func (w *world) work(tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	c := w.Config()
	c.ModelURLs = []string{w.model.URL.String()}
	return w.WorkWith(c, worker.Tools(tools...))
}

// workPriced is work with a price of a dollar for a million tokens.
func (w *world) workPriced(tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	name := filepath.Join(w.T.TempDir(), "prices.json")
	if err := os.WriteFile(name, []byte(pricesFile), 0o600); err != nil {
		w.T.Fatal(err)
	}
	c := w.Config()
	c.ModelURLs, c.ModelPrices = []string{w.model.URL.String()}, name
	return w.WorkWith(c, worker.Tools(tools...))
}

// apply stores an agent that asks the model of the same name, and makes it the active version.
func (w *world) apply(name string, change func(*agent.Document), tools ...string) {
	w.T.Helper()
	d := agent.Document{
		Name: name, Version: "1", Description: "Does " + name + ".", Instructions: "Help.", Tools: tools,
		Model:  agent.Model{Format: "openai", Name: name, URL: w.model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 20, Calls: 50, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}
	if name == lead {
		d.Agents = []string{research}
	}
	if change != nil {
		change(&d)
	}
	if _, err := w.Store.ApplyAgent(w.T.Context(), d, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
}

// input returns the input of a run of the agent lead.
func input(runID string) agent.Input {
	return agent.Input{
		Agent: lead, Context: toolspec.Context{TenantID: "acme", RunID: runID, ActorID: e2etest.Actor, SessionID: "session"},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "go"}}}},
	}
}

func (w *world) start(in agent.Input) *pawl.AgentRun  { w.T.Helper(); return w.StartRun(in) }
func (w *world) result(r *pawl.AgentRun) agent.Result { w.T.Helper(); return w.RunResult(r) }

// run runs the agent lead to its end.
func (w *world) run(runID string) agent.Result {
	w.T.Helper()
	return w.result(w.start(input(runID)))
}

// delegate returns a call that runs an agent.
func delegate(name, task string) modelserver.Call {
	return modelserver.Call{Name: agent.RunTool, Args: fmt.Sprintf(`{"agent":%q,"task":%q}`, name, task)}
}

// echo returns a call of a tool with a text.
func echo(tool, text string) modelserver.Call {
	return modelserver.Call{Name: tool, Args: fmt.Sprintf(`{"text":%q}`, text)}
}

// calls returns a reply with calls, and say returns a reply with a final text.
func calls(c ...modelserver.Call) modelserver.Reply { return modelserver.Reply{Calls: c} }

func say(text string) modelserver.Reply { return modelserver.Reply{Text: text} }

// invocation returns the identity of a call of a run.
func invocation(runID, toolCallID string) toolspec.Identity {
	return toolspec.Identity{TenantID: "acme", RunID: runID, ToolCallID: toolCallID}
}

// childOf returns the id of the run that a call starts.
func childOf(runID, toolCallID string) string {
	return agent.ChildRunID(invocation(runID, toolCallID).InvocationID())
}

// answers returns the results of calls in the last request to a model.
func (w *world) answers(model string) (texts []string) {
	w.T.Helper()
	for _, r := range w.model.Requests() {
		if r.Model != model {
			continue
		}
		texts = nil
		for _, m := range r.Messages {
			for _, result := range m.Results {
				texts = append(texts, result.Text)
			}
		}
	}
	return texts
}

// asked counts the requests to a model.
func (w *world) asked(model string) (n int) {
	for _, r := range w.model.Requests() {
		if r.Model == model {
			n++
		}
	}
	return n
}

// children counts the recorded runs that calls have started.
func (w *world) children() int {
	w.T.Helper()
	return e2etest.Scalar[int](w.World, "SELECT count(*)::integer FROM agent_runs WHERE parent_run_id IS NOT NULL")
}

// wantHas fails the test unless a text has all parts.
func wantHas(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %.600s", part, text)
		}
	}
}
