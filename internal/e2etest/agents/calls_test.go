package agents

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

// scripts has a script of the model for each first message of a conversation.
type scripts = map[string]func(modelserver.Request) modelserver.Reply

// TestReadsAtOnce: if the agent allows it, three reads of a response run at the same time, and their answers are in the order of the calls. In this test each
// read ends only after the next one. If the agent allows one call at a time, a read starts after the previous one has ended (AG-09, C-28).
func TestReadsAtOnce(t *testing.T) {
	t.Parallel()
	three := modelserver.Script(calls(call("test__read", "a"), call("test__read", "b"), call("test__read", "c")), modelserver.Reply{Text: "done"})
	one := modelserver.Script(calls(call("test__held", "a"), call("test__held", "b"), call("test__held", "c")), modelserver.Reply{Text: "done"})
	w := newWorldOf(t, "openai", scripts{"three": three, "one": one, "two": one, "is it held?": modelserver.Script(modelserver.Reply{Text: "done"})})
	ended := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{})}
	next := map[string]string{"a": "b", "b": "c"}
	read := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		defer close(ended[in.Text])
		if wait := ended[next[in.Text]]; wait != nil {
			select {
			case <-wait:
			case <-ctx.Done():
				return e2etest.Out{}, ctx.Err()
			}
		}
		return e2etest.Echo(ctx, in, call)
	}
	single, double := e2etest.NewHung(), e2etest.NewHung()
	w.work(e2etest.Tool("test__read", read, e2etest.Attempts(1)), e2etest.Tool("test__held", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		if call.Context.RunID == "two" {
			return double.Run(ctx, in, call)
		}
		return single.Run(ctx, in, call)
	}))
	d := w.document("openai", "test__read", "test__held")
	d.Limits.AtOnce = 3
	w.apply(d)
	want(t, w.run(input("three", "three")), agent.Completed, "done")
	for _, id := range []string{agent.WorkflowID("acme", "three"), toolspec.Identity{TenantID: "acme", RunID: "three", ToolCallID: "r1-0"}.WorkflowID()} {
		if got := w.History(id, "").GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowTaskTimeout().AsDuration(); got != agent.TaskTimeout {
			t.Errorf("a worker that is lost in a task holds up %s for %s, want %s", id, got, agent.TaskTimeout)
		}
	}
	if got := strings.Join(answersIn(t, w.asks("three")), " "); got != `{"text":"a"} {"text":"b"} {"text":"c"}` {
		t.Errorf("the model was told %s", got)
	}

	d.Version, d.Limits.AtOnce = "2", 2
	w.apply(d)
	two := w.start(input("two", "two"))
	e2etest.Receive(t, double.Entered)
	e2etest.Receive(t, double.Entered)
	if inside, _ := double.Counts(); inside != 2 || len(w.calling(two, 2)) != 2 {
		t.Errorf("%d calls run", inside)
	}
	close(double.Release)
	want(t, w.result(two), agent.Completed, "done")
	if _, highest := double.Counts(); highest != 2 {
		t.Errorf("%d calls ran at the same time, want 2", highest)
	}

	d.Version, d.Limits.AtOnce = "3", 1
	w.apply(d)
	run := w.start(input("one", "one"))
	e2etest.Receive(t, single.Entered)
	if open := w.calling(run, 1); open[0].ToolID != "test__held" {
		t.Errorf("the open calls are %+v", open)
	}
	close(single.Release)
	want(t, w.result(run), agent.Completed, "done")
	if _, highest := single.Counts(); highest != 1 {
		t.Errorf("%d calls ran at the same time, want 1", highest)
	}

	// A request offers no more tools than the agent allows, and the record has the offered tools.
	d.Version, d.Limits.Offered = "4", 1
	w.apply(d)
	want(t, w.run(input("picked", "is it held?")), agent.Completed, "done")
	recorded := e2etest.Scalar[string](w.World, "SELECT plan->>'offered' FROM agent_rounds WHERE run_id = 'picked'")
	if got := w.asks("is it held?")[0].Tools; len(got) != 1 || got[0] != "test__held" || recorded != `["test__held"]` {
		t.Errorf("the model was offered %v, and the record has %s", got, recorded)
	}
}

// TestEffectsRunAlone: a write waits for the reads before it, and the next read waits for the write, however many calls may run at the same time.
func TestEffectsRunAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", modelserver.Script(calls(call("test__read", "a"), call("test__write", "b"), call("test__read", "c")), modelserver.Reply{Text: "done"}))
	hung := e2etest.NewHung()
	w.work(e2etest.Tool("test__read", hung.Run), e2etest.Tool("test__write", hung.Run, e2etest.Idempotent))
	d := w.document("openai", "test__read", "test__write")
	d.Limits.AtOnce = 3
	w.apply(d)
	run := w.start(input("run", "go"))
	e2etest.Receive(t, hung.Entered)
	w.calling(run, 1)
	close(hung.Release)
	want(t, w.result(run), agent.Completed, "done")
	if _, highest := hung.Counts(); highest != 1 {
		t.Errorf("%d calls ran at the same time, want 1", highest)
	}
}

// TestDone: core__done ends the run with its message, and the calls after it in the response do not run. A core__done that fails does not end the run.
func TestDone(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "anthropic", scripts{
		"done": modelserver.Script(calls(call("test__echo", "first"), modelserver.Call{Name: "core__done", Args: `{"message":"all is well"}`}, call("test__echo", "late"))),
		"wrong": modelserver.Script(calls(modelserver.Call{Name: "core__done", Args: `{"message":7}`}),
			modelserver.Reply{Text: "as a text"}),
	})
	var runs e2etest.Ledger
	w.work(e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)))
	w.apply(w.document("anthropic", "test__echo", "core__done"))
	result := w.run(input("done", "done"))
	want(t, result, agent.Completed, "all is well")
	if result.Rounds != 1 || len(w.asks("done")) != 1 || w.codes("done") != "ok ok" || len(runs.Counts) != 1 || w.dones("done") != 1 {
		t.Errorf("the run has %+v, %d requests, the calls %s, %d runs of the tool and %d done events",
			result.Totals, len(w.asks("done")), w.codes("done"), len(runs.Counts), w.dones("done"))
	}
	want(t, w.run(input("wrong", "wrong")), agent.Completed, "as a text")
}

// TestNoTools: an agent without tools offers no tool to the model, and a call of the model gets no workflow.
func TestNoTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", modelserver.Script(calls(call("test__echo", "a")), modelserver.Reply{Text: "done"}))
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(w.document("openai"))
	result := w.run(input("run", "go"))
	want(t, result, agent.Completed, "done")
	if texts := answersIn(t, w.asks("go")); len(texts) != 1 || !strings.Contains(texts[0], string(toolspec.CodePolicyDenied)) || result.Calls != 0 {
		t.Errorf("the model was told %q, with %d calls", texts, result.Calls)
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM invocations WHERE run_id = 'run'"); n != 0 || len(w.asks("go")[0].Tools) != 0 {
		t.Errorf("there are %d calls, and the offer %v", n, w.asks("go")[0].Tools)
	}
	for _, e := range w.History(agent.WorkflowID("acme", "run"), "").GetEvents() {
		if e.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil {
			t.Error("a child workflow was started")
		}
	}
}

// TestSameRunOtherInput: a start with the id of an existing run and another input is refused, also after the end of that run, and the run stays as it is.
func TestSameRunOtherInput(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "openai", scripts{"first": modelserver.Script(modelserver.Reply{Text: "one"}), "second": modelserver.Script(modelserver.Reply{Text: "two"})})
	w.work()
	w.apply(w.document("openai"))
	first := w.run(input("run", "first"))
	want(t, first, agent.Completed, "one")
	// A start with the same input attaches to the existing run.
	want(t, w.run(input("run", "first")), agent.Completed, "one")
	before := e2etest.Scalar[string](w.World, "SELECT r::text FROM agent_runs r WHERE run_id = 'run'")
	again := w.again(input("run", "second"))
	if again.Outcome != agent.Failed || !strings.Contains(again.Reason, "another input") || again.Text != "" {
		t.Errorf("another input ended %+v", again)
	}
	if now := e2etest.Scalar[string](w.World, "SELECT r::text FROM agent_runs r WHERE run_id = 'run'"); now != before || len(w.asks("second")) != 0 {
		t.Errorf("the first run is now %s", now)
	}
	// If Temporal has deleted the workflow of the run, the result comes from the record, and the model is not asked again.
	if again := w.again(input("run", "first")); fmt.Sprint(again) != fmt.Sprint(first) || len(w.asks("first")) != 1 {
		t.Errorf("the run once more ended %+v, with %d requests", again, len(w.asks("first")))
	}
}
