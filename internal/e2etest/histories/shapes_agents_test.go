package histories

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// agentWorld is a world with an agent whose model follows the script for the first message of the run.
type agentWorld struct {
	*e2etest.World
	hung *e2etest.Hung
	// works is the configuration of its worker, and tools are the tools of the worker.
	works worker.Config
	tools worker.Option
}

func newAgentWorld(w *e2etest.World) *agentWorld {
	w.T.Helper()
	call := func(tool string) modelserver.Reply {
		return modelserver.Reply{Calls: []modelserver.Call{{Name: tool, Args: `{"text":"hello"}`}}}
	}
	done := modelserver.Reply{Text: "done"}
	retried := modelserver.Reply{Text: "done", Before: []modelserver.Reply{{Status: 503}}}
	var asked atomic.Int32
	held := call("test__held")
	held.Calls = append(held.Calls, held.Calls[0])
	scripts := map[string]func(modelserver.Request) modelserver.Reply{
		"agent_calls": modelserver.Script(call("test__read"), call("test__read"), done), "agent_approved": modelserver.Script(call("test__write"), done),
		"agent_interrupted": modelserver.Script(held, done), "agent_cancelled": modelserver.Script(call("test__write"), done),
		"agent_retried": modelserver.Script(retried), "agent_waiting_call": modelserver.Script(call("test__write"), done),
		"agent_waiting_model": modelserver.Script(modelserver.Reply{Text: "done", Before: []modelserver.Reply{{Status: 503, RetryAfter: "60"}}}),
		"agent_waiting_response": func(modelserver.Request) modelserver.Reply {
			if asked.Add(1) == 1 {
				return modelserver.Reply{Text: "late", Delay: make(chan struct{})}
			}
			return done
		},
		"agent_waiting_message": func(modelserver.Request) modelserver.Reply { return done },
		"agent_joined":          modelserver.Script(call("test__write"), done),
		"agent_child": modelserver.Script(modelserver.Reply{Calls: []modelserver.Call{
			{Name: pawlagent.RunTool, Args: `{"agent":"helper","task":"agent_calls"}`},
		}}, done),
		"agent_continued": func(r modelserver.Request) modelserver.Reply {
			if r.Answers < 12 {
				return call("test__read")
			}
			return done
		},
	}
	model := modelserver.Serve(w.T, "openai", func(r modelserver.Request) modelserver.Reply { return scripts[r.Messages[0].Text](r) })
	a := &agentWorld{World: w, hung: e2etest.NewHung(), works: w.Config()}
	a.works.ModelURLs = []string{model.URL.String()}
	a.tools = worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__write", e2etest.Echo, e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__held", a.hung.Run))
	w.WorkWith(a.works, a.tools)
	for name, runs := range map[string][]string{"helper": nil, "lead": {"helper"}} {
		if _, err := w.Store.ApplyAgent(w.T.Context(), pawlagent.Document{
			Name: name, Version: "1", Tools: []string{"test__read", "test__write", "test__held"}, Agents: runs,
			Model:  pawlagent.Model{Format: "openai", Name: "model", URL: model.URL.String(), MaxTokens: 1000},
			Limits: pawlagent.Limits{Rounds: 50, Calls: 50, Seconds: 3600, ContextBytes: pawlagent.DefaultContextBytes, AtOnce: 1},
		}, "e2etest"); err != nil {
			w.T.Fatal(err)
		}
	}
	return a
}

// start starts the run of a shape and returns the id of its workflow.
func (a *agentWorld) start(shape string) string {
	a.T.Helper()
	name := "helper"
	if shape == "agent_child" {
		name = "lead"
	}
	run, err := a.Pawl.StartAgent(a.T.Context(), pawlagent.Input{
		Agent: name, Context: toolspec.Context{TenantID: "acme", RunID: shape, ActorID: e2etest.Actor}, Stays: shape == "agent_waiting_message",
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: shape}}}},
	})
	if err != nil {
		a.T.Fatal(err)
	}
	return run.WorkflowID()
}

// end waits for the end of the run of a shape.
func (a *agentWorld) end(shape string) {
	a.T.Helper()
	ctx, cancel := context.WithTimeout(a.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	if _, err := a.Pawl.AgentResult(ctx, a.Pawl.AttachAgent(ctx, "acme", shape)); err != nil {
		a.T.Fatal(err)
	}
}

// until waits until holds returns true for the state of a run, and returns that state.
func (a *agentWorld) until(shape string, holds func(pawlagent.State) bool) (state pawlagent.State) {
	a.T.Helper()
	var last error
	a.Until(func() bool {
		state, last = a.Pawl.AgentState(a.T.Context(), "acme", shape)
		return last == nil && holds(state)
	}, shape+" is there", &last)
	return state
}

func (a *agentWorld) say(shape, id string) {
	a.T.Helper()
	if err := a.Pawl.SayToAgent(a.T.Context(), "acme", shape, pawlagent.Message{ID: id, Text: "hello"}); err != nil {
		a.T.Fatal(err)
	}
}

// agents records runs of agents.
func (r *recorder) agents(t *testing.T) {
	a := newAgentWorld(e2etest.NewWorld(t, e2etest.PlainPolicy))
	take := func(shape string) {
		t.Helper()
		a.end(shape)
		r.take(a.World, shape, a.History(pawlagent.WorkflowID("acme", shape), ""))
	}
	for _, shape := range []string{"agent_calls", "agent_retried", "agent_child"} {
		a.start(shape)
		take(shape)
	}
	a.start("agent_approved")
	a.Approve(a.until("agent_approved", hasCall).Calls[0].WorkflowID)
	take("agent_approved")

	a.start("agent_interrupted")
	e2etest.Receive(t, a.hung.Entered)
	a.say("agent_interrupted", "m1")
	if err := a.Pawl.InterruptAgent(t.Context(), "acme", "agent_interrupted"); err != nil {
		t.Fatal(err)
	}
	close(a.hung.Release)
	take("agent_interrupted")

	a.start("agent_cancelled")
	a.Waiting(a.until("agent_cancelled", hasCall).Calls[0].WorkflowID)
	if err := a.Pawl.CancelAgent(t.Context(), "acme", "agent_cancelled"); err != nil {
		t.Fatal(err)
	}
	take("agent_cancelled")

	// A run that was reset waits in an activity for the call that it has started before.
	joined := a.start("agent_joined")
	call := a.until("agent_joined", hasCall).Calls[0].WorkflowID
	a.Waiting(call)
	a.Reset(joined)
	a.Until(func() bool {
		return slices.Contains(historytest.Outline(a.History(joined, "")), "activity "+contract.Join.Name())
	}, "the run waits for its call")
	a.Approve(call)
	take("agent_joined")

	a.waitsForCall()
	r.rests(a.World, "agent_waiting_call", "child started", pawlagent.WorkflowID("acme", "agent_waiting_call"))
	r.rests(a.World, "agent_waiting_model", "timer", a.start("agent_waiting_model"))
	r.rests(a.World, "agent_waiting_response", "activity agentAsk", a.start("agent_waiting_response"))
	a.waitsForMessage()
	r.rests(a.World, "agent_waiting_message", "local agentClose", pawlagent.WorkflowID("acme", "agent_waiting_message"))
}

func hasCall(s pawlagent.State) bool { return len(s.Calls) == 1 }

// waitsForCall starts a run whose call waits for an approval, and returns the id of the workflow of the call.
func (a *agentWorld) waitsForCall() string {
	a.T.Helper()
	a.start("agent_waiting_call")
	call := a.until("agent_waiting_call", hasCall).Calls[0].WorkflowID
	a.Waiting(call)
	return call
}

// waitsForMessage starts a run and waits until it waits for its second message from a person.
func (a *agentWorld) waitsForMessage() {
	a.T.Helper()
	a.start("agent_waiting_message")
	a.untilRound(1)
	a.say("agent_waiting_message", "m1")
	a.untilRound(2)
}

func (a *agentWorld) untilRound(n int) {
	a.T.Helper()
	a.until("agent_waiting_message", func(s pawlagent.State) bool { return s.Phase == pawlagent.Waiting && s.Round == n })
}

// fired records the workflow that a schedule starts.
func (r *recorder) fired(t *testing.T) {
	a := newAgentWorld(e2etest.NewWorld(t, e2etest.PlainPolicy))
	file := filepath.Join(t.TempDir(), "trigger.yaml")
	if err := os.WriteFile(file, []byte(`{name: fired, version: "1", tenant: acme, actor: "agent:e2etest", agent: helper, on: schedule, schedule: {every: 24h}, prompt: "agent_calls"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a.PawlCLI("trigger apply " + file + " --tenant acme --as user:root")
	if err := a.Temporal.ScheduleClient().GetHandle(t.Context(), "trigger:acme:fired").Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	var event string
	a.Until(func() bool {
		event = e2etest.Scalar[string](a.World, "SELECT coalesce(max(event_id), '') FROM trigger_events WHERE run_id IS NOT NULL")
		return event != ""
	}, "the event is recorded")
	id := "trigger:acme:fired-" + event
	a.Until(func() bool { return a.Describe(id).GetWorkflowExecutionInfo().GetCloseTime() != nil }, "the workflow has ended")
	r.take(a.World, "trigger_fired", a.History(id, ""))
}

// continued records the first history of a run that continued in another history.
func (r *recorder) continued(t *testing.T) {
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: []string{"limit.historyCount.suggestContinueAsNew=60"}})
	a := newAgentWorld(e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy))
	id := a.start("agent_continued")
	a.end("agent_continued")
	first := ""
	for runID := ""; first == ""; {
		started := a.History(id, runID).GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
		if runID = started.GetContinuedExecutionRunId(); runID == "" {
			t.Fatal("the run has one history only")
		}
		first = started.GetFirstExecutionRunId()
	}
	r.take(a.World, "agent_continued", a.History(id, first))
}
