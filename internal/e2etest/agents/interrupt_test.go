package agents

import (
	"context"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

// lastOf returns the last message of a person in a request.
func lastOf(r modelserver.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text
		}
	}
	return ""
}

// isAnswered reports whether the last message of a request has the results of calls.
func isAnswered(r modelserver.Request) bool { return r.Messages[len(r.Messages)-1].Role == "tool" }

// phase waits until a run is in a phase, and returns its state.
func (w *world) phase(runID string, phase agent.Phase) agent.State {
	w.T.Helper()
	var state agent.State
	var err error
	w.Until(func() bool {
		state, err = w.Pawl.AgentState(w.T.Context(), "acme", runID)
		return err == nil && state.Phase == phase
	}, "the run is "+string(phase), &err)
	return state
}

// TestInterruptedTurns: in a run that stays, an interrupt ends the present turn, during a request to the model and during a call. The later calls of the
// response do not start. The run goes on with the next message, and the request to the model leaves out the interrupted response. An interrupt of a turn does
// not affect a run that waits for a message, and an interrupt of the run ends it.
func TestInterruptedTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", func(r modelserver.Request) modelserver.Reply {
		switch said := lastOf(r); {
		case said == "hang":
			return modelserver.Reply{Text: "a long answer", Hang: make(chan struct{})}
		case said == "call" && !isAnswered(r):
			return calls(call("test__slow", "first"), call("test__slow", "second"))
		default:
			return modelserver.Reply{Text: "you said " + said}
		}
	})
	entered, release := make(chan struct{}, 2), make(chan struct{})
	slow := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- struct{}{}
		<-release
		return e2etest.Echo(ctx, in, call)
	}
	w.work(e2etest.Tool("test__slow", slow))
	w.apply(w.document("openai", "test__slow"))
	in := input("run", "hang")
	in.Stays = true
	run, err := w.Pawl.StartAgent(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	interrupt := func() {
		t.Helper()
		if err := w.Pawl.InterruptAgentTurn(t.Context(), "acme", "run"); err != nil {
			t.Fatal(err)
		}
	}
	say := func(id, text string) {
		t.Helper()
		if err := w.Pawl.SayToAgent(t.Context(), "acme", "run", agent.Message{ID: id, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	turns := func(n int) {
		t.Helper()
		w.Until(func() bool { return w.dones("run") == n }, "the turn ends")
		w.phase("run", agent.Waiting)
	}

	// Two turns are interrupted, one after the other, before a response is recorded.
	for n, id := range []string{"", "m1"} {
		if id != "" {
			say(id, "hang")
		}
		w.Until(func() bool { return len(w.model.Requests()) == n+1 }, "the model is asked")
		interrupt()
		turns(n + 1)
	}
	say("m2", "call")
	<-entered
	interrupt()
	close(release)
	turns(3)
	codes := e2etest.Query[string](w.World, "SELECT coalesce(error_code, 'ok') FROM invocations WHERE run_id = 'run'")
	if strings.Join(codes, " ") != "ok" {
		t.Errorf("the calls ended %q, want the first one alone", codes)
	}
	say("m3", "hello")
	turns(4)
	interrupt()
	w.phase("run", agent.Waiting)
	requests := w.model.Requests()
	last := requests[len(requests)-1]
	var said []string
	for _, m := range last.Messages {
		if m.Role != "system" {
			said = append(said, m.Role)
		}
	}
	if strings.Join(said, " ") != "user user user assistant tool user" {
		t.Errorf("the model read %v", said)
	}
	if results := last.Messages[len(last.Messages)-2].Results; len(results) != 2 || !strings.Contains(results[1].Text, "cancelled") {
		t.Errorf("the model was told %+v", results)
	}
	if err := w.Pawl.InterruptAgent(t.Context(), "acme", "run"); err != nil {
		t.Fatal(err)
	}
	result, err := w.Pawl.AgentResult(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	want(t, result, agent.Interrupted, "you said hello")
	if result.Rounds != 2 || result.Calls != 2 {
		t.Errorf("the totals are %+v", result.Totals)
	}
	if n := w.dones("run"); n != 5 {
		t.Errorf("%d turns ended, want 5", n)
	}
}
