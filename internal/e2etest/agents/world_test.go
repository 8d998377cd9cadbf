package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/worker"
)

// world is the world of a test with a scripted model.
type world struct {
	*e2etest.World
	model *modelserver.Server
}

// newWorld makes a world whose model answers as script says.
func newWorld(t *testing.T, format string, script func(modelserver.Request) modelserver.Reply) *world {
	t.Helper()
	return &world{e2etest.NewWorld(t, e2etest.PlainPolicy), modelserver.Serve(t, format, script)}
}

// newWorldOf makes a world whose model picks its script by the first message of the conversation.
func newWorldOf(t *testing.T, format string, scripts map[string]func(modelserver.Request) modelserver.Reply) *world {
	t.Helper()
	return newWorld(t, format, pick(scripts))
}

// pick returns a script that answers with the script for the first message of the conversation.
func pick(scripts map[string]func(modelserver.Request) modelserver.Reply) func(modelserver.Request) modelserver.Reply {
	return func(r modelserver.Request) modelserver.Reply {
		if script := scripts[r.Messages[0].Text]; script != nil {
			return script(r)
		}
		return modelserver.Reply{Status: 400, Text: "no script " + r.Messages[0].Text}
	}
}

// work runs a worker that is configured to ask the model.
func (w *world) work(tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	c := w.Config()
	c.ModelURLs = []string{w.model.URL.String()}
	return w.workWith(c, tools...)
}

// workWith is work with another configuration.
func (w *world) workWith(c worker.Config, tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	return w.WorkWith(c, worker.Tools(tools...))
}

// document returns an agent that asks the model of the world.
func (w *world) document(format string, tools ...string) agent.Document {
	return agent.Document{
		Name: "helper", Version: "1", Instructions: "Help.", Tools: tools,
		Model:  agent.Model{Format: format, Name: "model", URL: w.model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 20, Calls: 50, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}
}

// apply stores an agent, and makes it the active version of its name.
func (w *world) apply(d agent.Document) {
	w.T.Helper()
	if _, err := w.Store.ApplyAgent(w.T.Context(), d, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
}

// input returns the input of a run of the agent helper.
func input(runID, text string) agent.Input {
	return agent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: runID, ActorID: e2etest.Actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: text}}}},
	}
}

// run runs an agent to its end.
func (w *world) run(in agent.Input) agent.Result {
	w.T.Helper()
	return w.result(w.start(in))
}

func (w *world) start(in agent.Input) *client.AgentRun  { w.T.Helper(); return w.StartRun(in) }
func (w *world) result(r *client.AgentRun) agent.Result { w.T.Helper(); return w.RunResult(r) }

// until waits until holds returns true for the state of a run, and returns that state.
func (w *world) until(r *client.AgentRun, holds func(agent.State) bool, what string) (state agent.State) {
	w.T.Helper()
	var last error
	w.Until(func() bool {
		state, last = w.Pawl.AgentState(w.T.Context(), r.TenantID, r.RunID)
		return last == nil && holds(state)
	}, r.RunID+" "+what, &last)
	return state
}

// calling waits until a run has this many open calls, and returns them.
func (w *world) calling(r *client.AgentRun, n int) []agent.OpenCall {
	w.T.Helper()
	return w.until(r, func(s agent.State) bool { return len(s.Calls) == n }, fmt.Sprintf("has %d open calls", n)).Calls
}

// asks returns the requests to the model whose conversation has this first message.
func (w *world) asks(text string) (all []modelserver.Request) {
	for _, r := range w.model.Requests() {
		if len(r.Messages) > 0 && r.Messages[0].Text == text {
			all = append(all, r)
		}
	}
	return all
}

// codes returns how each call of a run ended, in the order of their starts.
func (w *world) codes(runID string) string {
	w.T.Helper()
	return strings.Join(e2etest.Query[string](w.World, "SELECT coalesce(error_code, CASE WHEN state = 'settled' THEN 'ok' ELSE state END) FROM invocations WHERE run_id = $1 ORDER BY created_at", runID), " ")
}

// dones counts the end events of a run and of its turns.
func (w *world) dones(runID string) int {
	w.T.Helper()
	return e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM run_events WHERE run_id = $1 AND kind = 'done'", runID)
}

// answersIn returns the results of calls that the last request of a conversation ends with, in their order.
func answersIn(t *testing.T, asks []modelserver.Request) (texts []string) {
	t.Helper()
	if len(asks) == 0 {
		t.Fatal("the model was not asked")
	}
	messages := asks[len(asks)-1].Messages
	for _, m := range messages {
		if m.Role == "tool" {
			texts = nil
			for _, r := range m.Results {
				texts = append(texts, r.Text)
			}
		}
	}
	return texts
}

// want fails the test unless a run ended with this outcome and text.
func want(t *testing.T, got agent.Result, outcome agent.Outcome, text string) {
	t.Helper()
	if got.Outcome != outcome || got.Text != text {
		t.Errorf("the run ended %+v, want %s with the text %q", got, outcome, text)
	}
}

// again starts another workflow under the id of a run that has ended, and returns its result.
func (w *world) again(in agent.Input) (result agent.Result) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	run, err := w.Temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
		ID: agent.WorkflowID(in.Context.TenantID, in.Context.RunID), TaskQueue: toolspec.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, agent.WorkflowType, in)
	if err == nil {
		err = run.Get(ctx, &result)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return result
}

// workPriced is work with a table of prices: 1 dollar for a million input tokens, and 2 dollars for a million output tokens.
func (w *world) workPriced(model string, tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	c := w.Config()
	c.ModelURLs = []string{w.model.URL.String()}
	c.ModelPrices = filepath.Join(w.T.TempDir(), "prices.yaml")
	table := "date: 2026-11-01\nprices:\n  - {format: openai, model: " + model + ", input: 1, cached: 1, cacheWrite: 1, output: 2}\n"
	if err := os.WriteFile(c.ModelPrices, []byte(table), 0o600); err != nil {
		w.T.Fatal(err)
	}
	return w.workWith(c, tools...)
}
