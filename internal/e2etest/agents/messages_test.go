package agents

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// say adds a message to a run.
func (w *world) say(run, id, text string) {
	w.T.Helper()
	if err := w.Pawl.SayToAgent(w.T.Context(), "acme", run, agent.Message{ID: id, Text: text, By: e2etest.Ann}); err != nil {
		w.T.Fatal(err)
	}
}

// said returns the messages of people in a request, joined by commas.
func said(r modelserver.Request) string {
	var texts []string
	for _, m := range r.Messages {
		if m.Role == "user" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, ", ")
}

// TestMessages: a message that comes during a request to the model is in the next request, once, and the run does not end before the model has read it. A
// message that comes during a call follows the answer of the call. A message with a used id is ignored, whatever its text.
func TestMessages(t *testing.T) {
	t.Parallel()
	thinks, thought := make(chan struct{}), make(chan struct{})
	w := newWorld(t, "openai", func(r modelserver.Request) modelserver.Reply {
		switch r.Answers {
		case 0:
			close(thinks)
			return modelserver.Reply{Text: "an answer", Delay: thought}
		case 1:
			return calls(call("test__held", "a"))
		default:
			return modelserver.Reply{Text: "done"}
		}
	})
	hung := e2etest.NewHung()
	w.work(e2etest.Tool("test__held", hung.Run))
	w.apply(w.document("openai", "test__held"))
	run := w.start(input("run", "go"))
	e2etest.Receive(t, thinks)
	w.say("run", "m1", "one")
	w.say("run", "m2", "two")
	w.say("run", "m1", "one again")
	close(thought)
	e2etest.Receive(t, hung.Entered)
	w.say("run", "m3", "three")
	w.say("run", "m2", "two")
	close(hung.Release)
	want(t, w.result(run), agent.Completed, "done")
	asks := w.asks("go")
	if len(asks) != 3 || said(asks[0]) != "go" || said(asks[1]) != "go, one, two" || said(asks[2]) != "go, one, two, three" {
		t.Fatalf("the model was asked %d times, and got %q at the end", len(asks), said(asks[len(asks)-1]))
	}
	if last := asks[2].Messages; last[len(last)-1].Text != "three" || last[len(last)-2].Role != "tool" {
		t.Errorf("the last messages are %+v", last)
	}
	err := w.Pawl.SayToAgent(t.Context(), "acme", "run", agent.Message{ID: "m9", Text: "late"})
	if !errors.Is(err, client.ErrSettled) {
		t.Errorf("a message to a run that has ended: %v", err)
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_messages"); n != 3 {
		t.Errorf("the record has %d messages, want 3", n)
	}
}

// TestStays: a run that stays answers each message in a turn, with an end event for each turn, and waits for the next message. An interrupt while it waits ends
// the run.
func TestStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "anthropic", func(r modelserver.Request) modelserver.Reply {
		last := r.Messages[len(r.Messages)-1]
		if last.Text == "call" {
			return calls(call("test__echo", "a"))
		}
		return modelserver.Reply{Text: fmt.Sprintf("answer %d", r.Answers+1)}
	})
	stop := w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(w.document("anthropic", "test__echo"))
	in := input("run", "hello")
	in.Stays = true
	run := w.start(in)
	waits := func(round int) {
		t.Helper()
		w.until(run, func(s agent.State) bool { return s.Phase == agent.Waiting && s.Round == round }, "waits for a message")
	}
	waits(1)
	w.say("run", "m1", "call")
	waits(3)
	// A person sends a message later, when another worker runs.
	stop()
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.say("run", "m2", "more")
	w.say("run", "m2", "more")
	waits(4)
	if n := w.dones("run"); n != 3 {
		t.Errorf("%d turns have ended, want 3", n)
	}
	if err := w.Pawl.InterruptAgent(t.Context(), "acme", "run"); err != nil {
		t.Fatal(err)
	}
	result := w.result(run)
	if result.Outcome != agent.Interrupted || result.Text != "answer 4" || result.Rounds != 4 || result.Calls != 1 {
		t.Errorf("the run ended %+v", result)
	}
	if n := w.dones("run"); n != 4 {
		t.Errorf("%d ends, want 4", n)
	}
	if got := said(w.asks("hello")[3]); got != "hello, call, more" {
		t.Errorf("the model got %q", got)
	}
}

// TestMessagesAtTheEnd: each message that comes while a run ends either is read by the model or is refused. No message is accepted and then not read.
func TestMessagesAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", func(modelserver.Request) modelserver.Reply { return modelserver.Reply{Text: "done"} })
	w.work()
	w.apply(w.document("openai"))
	for n := range 8 {
		id := fmt.Sprintf("run-%d", n)
		run := w.start(input(id, id))
		var all sync.WaitGroup
		taken := make([]bool, 6)
		for i := range taken {
			all.Go(func() {
				err := w.Pawl.SayToAgent(t.Context(), "acme", id, agent.Message{ID: fmt.Sprint(i), Text: fmt.Sprintf("message %d", i)})
				taken[i] = err == nil
				if err != nil && !errors.Is(err, client.ErrSettled) {
					t.Errorf("%s: message %d: %v", id, i, err)
				}
			})
		}
		result := w.result(run)
		all.Wait()
		want(t, result, agent.Completed, "done")
		asks := w.asks(id)
		got := said(asks[len(asks)-1])
		for i, is := range taken {
			if n := strings.Count(got, fmt.Sprintf("message %d", i)); is && n != 1 || n > 1 {
				t.Errorf("%s: message %d was taken: %t, and the model got it %d times", id, i, is, n)
			}
		}
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_messages WHERE round IS NULL"); n != 0 {
		t.Errorf("%d messages were stored and never read", n)
	}
}

// TestMessageWhileClosing: a message that comes while the end of a run is written is refused, and the record does not have it.
func TestMessageWhileClosing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", modelserver.Script(modelserver.Reply{Text: "done"}))
	isHeld, release := w.Hold("UPDATE ON agent_runs FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL)")
	w.work()
	w.apply(w.document("openai"))
	run := w.start(input("run", "go"))
	w.Until(isHeld, "the end is written")
	refused := make(chan error, 1)
	go func() {
		refused <- w.Pawl.SayToAgent(t.Context(), "acme", "run", agent.Message{ID: "late", Text: "late"})
	}()
	// The server asks the workflow within the five seconds of a workflow task, while the statement still waits.
	w.Until(func() bool { return w.HasUpdate(run.WorkflowID(), "message-late") || len(refused) == 1 }, "the message is on its way")
	w.Until(func() bool {
		return len(refused) == 1 || e2etest.CountEvents(w.History(run.WorkflowID(), ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) == 1
	}, "the workflow takes the message or refuses it")
	release()
	if err := e2etest.Receive(t, refused); !errors.Is(err, client.ErrSettled) {
		t.Errorf("the message got %v", err)
	}
	want(t, w.result(run), agent.Completed, "done")
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_messages"); n != 0 {
		t.Errorf("the record has %d messages that nobody reads", n)
	}
}
