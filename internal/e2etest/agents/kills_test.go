package agents

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

type process = exec.Cmd

// whole fails the test unless a run of two rounds and one call has ended as it would without a fault. asks and limit bound the number of requests to the
// model.
func (w *world) whole(run string, asks, limit int) {
	t := w.T
	t.Helper()
	result := w.result(w.Pawl.AttachAgent(t.Context(), "acme", run))
	want(t, result, agent.Completed, "done")
	if result.Rounds != 2 || result.Calls != 1 || result.InputTokens != 20 || result.OutputTokens != 10 {
		t.Errorf("the totals are %+v", result.Totals)
	}
	if n := w.dones(run); n != 1 {
		t.Errorf("%d done events", n)
	}
	if n := len(w.asks(run)); n < asks || n > limit {
		t.Errorf("the model was asked %d times, want %d to %d", n, asks, limit)
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM invocations WHERE run_id = $1", run); n != 1 {
		t.Errorf("there are %d calls, want 1", n)
	}
	w.WantSound(agent.WorkflowID("acme", run))
	w.Replay(agent.WorkflowID("acme", run))
}

// TestWorkerKilledInRun: the worker of a run is killed in each step of the run, after a person has sent a message. Another worker goes on. The tool runs once,
// the model reads the message and is asked again only if its response was not recorded, and the usage counts once.
func TestWorkerKilledInRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		trigger string
		// asks and most bound the number of requests to the model. It can differ because a statement that was running when its worker was killed may have been
		// committed or not.
		asks, most int
	}{
		{"opening", "INSERT ON agent_runs FOR EACH ROW", 2, 2},
		{"recording the response", "INSERT ON agent_rounds FOR EACH ROW", 2, 4},
		{"storing the answers", "UPDATE ON agent_rounds FOR EACH ROW WHEN (NEW.answers IS NOT NULL)", 2, 2},
		{"closing", "UPDATE ON agent_runs FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL)", 2, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "effects")
			w := newWorld(t, "openai", modelserver.Script(calls(modelserver.Call{Name: "test__send", Args: fmt.Sprintf(`{"text":%q}`, file)}), modelserver.Reply{Text: "done"}))
			isHeld, release := w.Hold(tc.trigger)
			first := w.child()
			w.apply(w.document("openai", "test__send"))
			w.start(input("run", "run"))
			w.Until(isHeld, "the statement is held")
			e2etest.Kill(first)
			release()
			w.child()
			w.whole("run", tc.asks, tc.most)
			if got := w.Effects(file); len(got) != 1 {
				t.Errorf("the tool was run by %v", got)
			}
		})
	}
}

// TestWorkerKilledInRequest: the worker is killed during a request to the model. The model is asked again, and its response counts once. A message that came
// in between is in the new request.
func TestWorkerKilledInRequest(t *testing.T) {
	t.Parallel()
	thought := make(chan struct{})
	file := filepath.Join(t.TempDir(), "effects")
	reply := calls(modelserver.Call{Name: "test__send", Args: fmt.Sprintf(`{"text":%q}`, file)})
	reply.Delay = thought
	w := newWorld(t, "openai", modelserver.Script(reply, modelserver.Reply{Text: "done"}))
	first := w.child()
	w.apply(w.document("openai", "test__send"))
	w.start(input("run", "run"))
	w.Until(func() bool { return len(w.asks("run")) == 1 }, "the model is asked")
	w.say("run", "m1", "one")
	e2etest.Kill(first)
	close(thought)
	w.child()
	w.whole("run", 3, 3)
	if asks := w.asks("run"); said(asks[1]) != "run, one" || said(asks[2]) != "run, one" || len(w.Effects(file)) != 1 {
		t.Errorf("the model got %q and %q, and the effects are %v", said(asks[1]), said(asks[2]), w.Effects(file))
	}
}

// TestWorkerKilledAfterResponse: the worker is killed after it has recorded the response and before it can report that to Temporal. The next worker does not
// ask the model again.
func TestWorkerKilledAfterResponse(t *testing.T) {
	t.Parallel()
	thought := make(chan struct{})
	file := filepath.Join(t.TempDir(), "effects")
	reply := calls(modelserver.Call{Name: "test__send", Args: fmt.Sprintf(`{"text":%q}`, file)})
	reply.Delay = thought
	w := newWorld(t, "openai", modelserver.Script(reply, modelserver.Reply{Text: "done"}))
	proxy := e2etest.ProxyTo(t, w.Address)
	first := w.child("TEMPORAL_ADDRESS=" + proxy.Address())
	w.apply(w.document("openai", "test__send"))
	w.start(input("run", "run"))
	w.Until(func() bool { return len(w.asks("run")) == 1 }, "the model is asked")
	e2etest.SetProxy(t, proxy, tcpproxy.BlackHole)
	close(thought)
	w.Until(func() bool { return e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_rounds") == 1 }, "the response is recorded")
	e2etest.Kill(first)
	w.child()
	w.whole("run", 2, 2)
	if got := w.Effects(file); len(got) != 1 {
		t.Errorf("the tool was run by %v", got)
	}
}

// TestWorkerKilledInCall: the worker is killed while a tool runs. A tool that must not be repeated is not run again, and the model gets the answer that the
// outcome is unknown. A tool that may be repeated is run again.
func TestWorkerKilledInCall(t *testing.T) {
	t.Parallel()
	send, write := filepath.Join(t.TempDir(), "effects"), filepath.Join(t.TempDir(), "effects")
	script := func(tool, file string) func(modelserver.Request) modelserver.Reply {
		return modelserver.Script(calls(modelserver.Call{Name: tool, Args: fmt.Sprintf(`{"text":%q,"note":"hang"}`, file)}), modelserver.Reply{Text: "done"})
	}
	w := newWorldOf(t, "openai", scripts{"send": script("test__send", send), "write": script("test__write", write)})
	first := w.child()
	w.apply(w.document("openai", "test__send", "test__write"))
	w.start(input("send", "send"))
	w.start(input("write", "write"))
	w.Until(func() bool { return len(w.Effects(send)) == 1 && len(w.Effects(write)) == 1 }, "the tools run")
	e2etest.Kill(first)
	w.child()
	w.whole("write", 2, 2)
	w.whole("send", 2, 2)
	if texts := answersIn(t, w.asks("send")); !strings.Contains(texts[0], string(toolspec.CodeOutcomeUnknown)) || len(w.Effects(send)) != 1 || len(w.Effects(write)) != 2 {
		t.Errorf("the model was told %q, and the effects are %v and %v", texts, w.Effects(send), w.Effects(write))
	}
}

// TestRunReset: the workflow of a run is reset to its first task, once while a call runs and once after the end of the run. It gives the same result, and asks
// no model and runs no tool again.
func TestRunReset(t *testing.T) {
	t.Parallel()
	hung := e2etest.NewHung()
	script := modelserver.Script(calls(call("test__echo", "a")), calls(call("test__held", "b")), modelserver.Reply{Text: "done"})
	w := newWorldOf(t, "openai", scripts{"ended": script, "open": script})
	var runs e2etest.Ledger
	w.work(e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)), e2etest.Tool("test__held", runs.Counted(hung.Run)))
	w.apply(w.document("openai", "test__echo", "test__held"))
	open := w.start(input("open", "open"))
	e2etest.Receive(t, hung.Entered)
	// The reset during a call: the new run of the workflow waits for the call that the earlier run has started.
	w.Reset(open.WorkflowID())
	w.calling(open, 1)
	close(hung.Release)
	want(t, w.result(w.Pawl.AttachAgent(t.Context(), "acme", "open")), agent.Completed, "done")

	first := w.run(input("ended", "ended"))
	w.Reset(agent.WorkflowID("acme", "ended"))
	if again := w.result(w.Pawl.AttachAgent(t.Context(), "acme", "ended")); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("the reset run ended %+v, and the first one %+v", again, first)
	}
	for _, run := range []string{"open", "ended"} {
		if len(w.asks(run)) != 3 || w.dones(run) != 1 || w.codes(run) != "ok ok" {
			t.Errorf("%s: %d requests, %d done events and the calls %s", run, len(w.asks(run)), w.dones(run), w.codes(run))
		}
	}
	// Both runs have calls of the same ids.
	for id, n := range runs.Counts {
		if n != 2 {
			t.Errorf("%s ran %d times in two runs", id, n)
		}
	}
}
