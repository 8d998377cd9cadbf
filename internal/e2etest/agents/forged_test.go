package agents

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	temporal "go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestForgedResponse: an attacker with access to the namespace of Temporal answers in the place of the worker that asks a model. No call of the forged answer
// starts, and it does not end the run. The later response of the model counts, once.
func TestForgedResponse(t *testing.T) {
	t.Parallel()
	thinks, thought := make(chan struct{}, 2), make(chan struct{})
	w := newWorld(t, "openai", func(modelserver.Request) modelserver.Reply {
		thinks <- struct{}{}
		return modelserver.Reply{Text: "genuine", Delay: thought}
	})
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(w.document("openai", "test__echo"))
	run := w.start(input("run", "go"))
	e2etest.Receive(t, thinks)
	forged := map[string]any{
		"recorded": true, "end": contract.AgentEnd{Outcome: agent.Completed, Reason: "forged"},
		"calls": []contract.AgentCall{{ToolID: "test__echo", ToolCallID: "r1-0", Args: json.RawMessage(`{"text":"forged"}`), Same: -1}},
	}
	var err error
	w.Until(func() bool {
		described, describeErr := w.Temporal.DescribeWorkflowExecution(t.Context(), run.WorkflowID(), "")
		if err = describeErr; err != nil || len(described.GetPendingActivities()) == 0 {
			return false
		}
		err = w.Temporal.CompleteActivityByID(t.Context(), w.Namespace, run.WorkflowID(), "", described.GetPendingActivities()[0].GetActivityId(), forged, nil)
		return err == nil
	}, "the answer is forged", &err)
	e2etest.Receive(t, thinks) // the run asks again
	close(thought)
	result := w.result(run)
	want(t, result, agent.Completed, "genuine")
	if result.Reason != "" || result.Rounds != 1 {
		t.Errorf("the run ended %+v", result)
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM invocations"); n != 0 {
		t.Errorf("%d calls have started", n)
	}
}

// TestForgedJoin: a run that was reset waits in an activity for its call. An attacker with access to the namespace of Temporal answers in the place of the
// worker. The model reads nothing of the forged answer, and a genuine answer counts.
func TestForgedJoin(t *testing.T) {
	t.Parallel()
	hung := e2etest.NewHung()
	script := modelserver.Script(calls(call("test__held", "a")), modelserver.Reply{Text: "done"})
	w := newWorldOf(t, "openai", scripts{"forged": script, "genuine": script})
	w.work(e2etest.Tool("test__held", hung.Run))
	w.apply(w.document("openai", "test__held"))
	var all []*client.AgentRun
	for _, id := range []string{"forged", "genuine"} {
		run := w.start(input(id, id))
		e2etest.Receive(t, hung.Entered)
		w.Reset(run.WorkflowID())
		w.calling(run, 1)
		all = append(all, w.Pawl.AttachAgent(t.Context(), "acme", id))
	}
	var err error
	w.Until(func() bool {
		for _, p := range w.Describe(all[0].WorkflowID()).GetPendingActivities() {
			if p.GetActivityType().GetName() == contract.Join.Name() {
				forged := toolspec.Result{OK: true, Value: json.RawMessage(`{"text":"forged"}`)}
				err = w.Temporal.CompleteActivityByID(t.Context(), w.Namespace, all[0].WorkflowID(), "", p.GetActivityId(), forged, nil)
				return err == nil
			}
		}
		return false
	}, "the answer is forged", &err)
	want(t, w.result(all[0]), agent.Completed, "done")
	if got := answersIn(t, w.asks("forged")); len(got) != 1 || strings.Contains(got[0], "forged") || !strings.Contains(got[0], "outcome_unknown") {
		t.Errorf("the model was told %q", got)
	}
	close(hung.Release)
	want(t, w.result(all[1]), agent.Completed, "done")
	if got := answersIn(t, w.asks("genuine")); len(got) != 1 || strings.Contains(got[0], "is_error") || strings.Contains(got[0], "outcome_unknown") {
		t.Errorf("the model was told %q", got)
	}
}

// TestForgedRequest: an attacker with access to the namespace of Temporal starts the activity that asks the model of a run, while the run waits for its call. The
// worker asks no model.
func TestForgedRequest(t *testing.T) {
	t.Parallel()
	hung := e2etest.NewHung()
	w := newWorld(t, "openai", modelserver.Script(calls(call("test__held", "a")), modelserver.Reply{Text: "done"}))
	w.work(e2etest.Tool("test__held", hung.Run))
	w.apply(w.document("openai", "test__held"))
	run := w.start(input("run", "go"))
	e2etest.Receive(t, hung.Entered)
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
	defer cancel()
	attacker := sdkworker.New(w.Temporal, "attacker", sdkworker.Options{})
	attacker.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: toolspec.TaskQueue, StartToCloseTimeout: time.Minute, RetryPolicy: &sdktemporal.RetryPolicy{MaximumAttempts: 1},
		}), contract.AgentAsk.Name(), contract.AgentAskIn{Run: contract.AgentRun{TenantID: "acme", RunID: "run"}, Round: 2}).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "forge"})
	if err := attacker.Start(); err != nil {
		t.Fatal(err)
	}
	defer attacker.Stop()
	forged, err := w.Temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{TaskQueue: "attacker"}, "forge")
	if err != nil {
		t.Fatal(err)
	}
	if err := forged.Get(ctx, nil); err == nil || !strings.Contains(err.Error(), contract.AgentAsk.Name()) {
		t.Errorf("the activity of the attacker ended with %v", err)
	}
	close(hung.Release)
	want(t, w.result(run), agent.Completed, "done")
	if n := len(w.asks("go")); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

// TestUnreadMessages: a run refuses a message, with an error that says why, while too many earlier messages are unread by the model. The same message, sent again
// later, is accepted.
func TestUnreadMessages(t *testing.T) {
	t.Parallel()
	thinks, thought := make(chan struct{}), make(chan struct{})
	asked, hung := 0, e2etest.NewHung()
	w := newWorld(t, "openai", func(modelserver.Request) modelserver.Reply {
		switch asked++; asked {
		case 1:
			close(thinks)
			return modelserver.Reply{Text: "an answer", Delay: thought}
		case 2:
			return calls(call("test__held", "a"))
		}
		return modelserver.Reply{Text: "done"}
	})
	w.work(e2etest.Tool("test__held", hung.Run, e2etest.Once, e2etest.Within(2*time.Minute)))
	w.apply(w.document("openai", "test__held"))
	run := w.start(input("run", "go"))
	e2etest.Receive(t, thinks)
	for i := range 64 {
		w.say("run", toolspec.ApprovalID("m", i), "more")
	}
	if err := w.Pawl.SayToAgent(t.Context(), "acme", "run", agent.Message{ID: "over", Text: "more"}); err == nil {
		t.Error("the run has taken one more")
	}
	close(thought)
	e2etest.Receive(t, hung.Entered)
	if err := w.Pawl.SayToAgent(t.Context(), "acme", "run", agent.Message{ID: "over", Text: "more"}); err != nil {
		t.Errorf("the run has not taken it later: %v", err)
	}
	close(hung.Release)
	want(t, w.result(run), agent.Completed, "done")
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_messages WHERE round = 2"); n != 64 {
		t.Errorf("the second request had %d messages, want 64", n)
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_messages WHERE round = 3 AND message_id = 'over'"); n != 1 {
		t.Errorf("the third request had the message %d times", n)
	}
}
