package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestCancel: a run that is cancelled while a call waits for a person, or during a request to the model, ends with the outcome cancelled. Its call is
// cancelled, and its workflow completes.
func TestCancel(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	w := newWorldOf(t, "openai", scripts{
		"waits":  modelserver.Script(calls(call("test__write", "a"), call("test__echo", "b"))),
		"thinks": modelserver.Script(modelserver.Reply{Text: "late", Delay: never}),
	})
	var runs e2etest.Ledger
	w.work(e2etest.Tool("test__write", runs.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky), e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)))
	w.apply(w.document("openai", "test__write", "test__echo"))

	waits, thinks := w.start(input("waits", "waits")), w.start(input("thinks", "thinks"))
	w.Waiting(w.calling(waits, 1)[0].WorkflowID)
	w.Until(func() bool { return w.model.Asked(0) == 2 }, "the models are asked")
	for _, run := range []string{"waits", "thinks"} {
		if err := w.Pawl.CancelAgent(t.Context(), "acme", run); err != nil {
			t.Fatal(err)
		}
	}
	if result := w.result(waits); result.Outcome != agent.Cancelled || result.Rounds != 1 {
		t.Errorf("the run ended %+v", result)
	}
	if result := w.result(thinks); result.Outcome != agent.Cancelled || result.Rounds != 0 {
		t.Errorf("the run ended %+v", result)
	}
	w.Until(func() bool { return w.codes("waits") == "cancelled" }, "the call is cancelled, and none behind it starts")
	if len(runs.Counts) != 0 || w.dones("waits") != 1 || w.dones("thinks") != 1 {
		t.Errorf("%d runs of tools, and %d and %d done events", len(runs.Counts), w.dones("waits"), w.dones("thinks"))
	}
	for _, run := range []string{"waits", "thinks"} {
		if status := w.Describe(agent.WorkflowID("acme", run)).GetWorkflowExecutionInfo().GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			t.Errorf("the workflow of %s is %s", run, status)
		}
		w.WantSound(agent.WorkflowID("acme", run))
	}
}

// TestInterrupt: an interrupted run ends after its current call. The next calls of the response do not start, and the model is not asked again. After an
// interrupt during a request, the response still arrives, and none of its calls starts. An interrupt during a pause ends the run immediately.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	thought := make(chan struct{})
	w := newWorldOf(t, "openai", scripts{
		"calls":  modelserver.Script(calls(call("test__held", "a"), call("test__held", "b"), call("test__held", "c"))),
		"thinks": modelserver.Script(modelserver.Reply{Calls: []modelserver.Call{call("test__held", "a")}, Delay: thought}),
		"pauses": modelserver.Script(modelserver.Reply{Status: 429, RetryAfter: "1800"}),
	})
	hung := e2etest.NewHung()
	w.work(e2etest.Tool("test__held", hung.Run))
	w.apply(w.document("openai", "test__held"))
	interrupt := func(run string) {
		t.Helper()
		if err := w.Pawl.InterruptAgent(t.Context(), "acme", run); err != nil {
			t.Fatal(err)
		}
	}
	run := w.start(input("calls", "calls"))
	e2etest.Receive(t, hung.Entered)
	interrupt("calls")
	if state := w.until(run, func(agent.State) bool { return true }, "says where it is"); state.Phase != agent.Calling {
		t.Errorf("the run is %+v", state)
	}
	close(hung.Release)
	if result := w.result(run); result.Outcome != agent.Interrupted || w.codes("calls") != "ok" || len(w.asks("calls")) != 1 || w.dones("calls") != 1 {
		t.Errorf("the run ended %+v, with the calls %s and %d requests", result, w.codes("calls"), len(w.asks("calls")))
	}
	// Every call has an answer, so the record shows which calls did not run.
	if answers := e2etest.Scalar[string](w.World, "SELECT answers::text FROM agent_rounds WHERE run_id = 'calls'"); strings.Count(answers, "stopped before this call") != 2 {
		t.Errorf("the answers are %s", answers)
	}

	run = w.start(input("thinks", "thinks"))
	w.Until(func() bool { return len(w.asks("thinks")) == 1 }, "the model is asked")
	interrupt("thinks")
	w.until(run, func(agent.State) bool { return true }, "has got the signal")
	close(thought)
	if result := w.result(run); result.Outcome != agent.Interrupted || result.Rounds != 1 || w.codes("thinks") != "" {
		t.Errorf("the run ended %+v, with the calls %s", result, w.codes("thinks"))
	}

	run = w.start(input("pauses", "pauses"))
	w.Until(func() bool { return w.Log.Has("a model provider gave no response") }, "the provider refuses")
	interrupt("pauses")
	if result := w.result(run); result.Outcome != agent.Interrupted || len(w.asks("pauses")) != 1 {
		t.Errorf("the run ended %+v, with %d requests", result, len(w.asks("pauses")))
	}
}

// TestBudgets: each limit ends a run with the outcome over_budget and the text so far, without a further request or call (BU-06).
func TestBudgets(t *testing.T) {
	t.Parallel()
	on := func(r modelserver.Request) modelserver.Reply {
		reply := calls(call("test__echo", fmt.Sprintf("%d-a", r.Answers)), call("test__echo", fmt.Sprintf("%d-b", r.Answers)))
		reply.Text = fmt.Sprintf("round %d", r.Answers+1)
		reply.Usage = wire.Usage{Input: 1000, Output: 500}
		return reply
	}
	w := newWorldOf(t, "openai", scripts{"rounds": on, "calls": on, "tokens": on, "tokens-left": on, "cost": on, "cost-left": on, "price": on, "time": modelserver.Script(calls(call("test__held", "a")))})
	var runs e2etest.Ledger
	hung := e2etest.NewHung()
	w.workPriced("model", e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)), e2etest.Tool("test__held", hung.Run, e2etest.Attempts(1)))
	for _, tc := range []struct {
		run     string
		change  func(*agent.Document)
		outcome agent.Outcome
		reason  string
		rounds  int
		calls   int
	}{
		{"rounds", func(d *agent.Document) { d.Limits.Rounds = 3 }, agent.OverBudget, "rounds: 3", 3, 6},
		// The third call of the second round does not start.
		{"calls", func(d *agent.Document) { d.Limits.Calls = 3 }, agent.OverBudget, "calls: 3", 2, 3},
		// A round has 1500 tokens. The next request has more than 20, so there is none.
		{"tokens", func(d *agent.Document) { d.Limits.Tokens = 3000 }, agent.OverBudget, "used its tokens: 3000", 2, 4},
		{"tokens-left", func(d *agent.Document) { d.Limits.Tokens = 3020 }, agent.OverBudget, "limit of tokens: 3020", 2, 4},
		// A round costs 1000 + 500·2 millionths of a dollar.
		{"cost", func(d *agent.Document) { d.Limits.MicroUSD = 4000 }, agent.OverBudget, "used its cost in millionths of a dollar: 4000", 2, 4},
		{"cost-left", func(d *agent.Document) { d.Limits.MicroUSD = 4020 }, agent.OverBudget, "limit of cost in millionths of a dollar: 4020", 2, 4},
		{"price", func(d *agent.Document) { d.Limits.MicroUSD, d.Model.Name = 40, "unknown" }, agent.Failed, "no price of the model unknown", 0, 0},
		{"time", func(d *agent.Document) { d.Limits.Seconds = 4 }, agent.OverBudget, "the time of the run", 1, 1},
	} {
		d := w.document("openai", "test__echo", "test__held")
		d.Version = tc.run
		tc.change(&d)
		w.apply(d)
		result := w.run(input(tc.run, tc.run))
		if result.Outcome != tc.outcome || !strings.Contains(result.Reason, tc.reason) || result.Rounds != tc.rounds || result.Calls != tc.calls || w.dones(tc.run) != 1 {
			t.Errorf("%s: the run ended %+v with %d done events", tc.run, result, w.dones(tc.run))
		}
		if tc.rounds > 1 && result.Text != fmt.Sprintf("round %d", tc.rounds) {
			t.Errorf("%s: the text is %q", tc.run, result.Text)
		}
		if n := len(w.asks(tc.run)); n != tc.rounds {
			t.Errorf("%s: the model was asked %d times, want %d", tc.run, n, tc.rounds)
		}
		if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM invocations WHERE run_id = $1", tc.run); n != tc.calls {
			t.Errorf("%s: %d calls started, want %d", tc.run, n, tc.calls)
		}
	}
	w.Until(func() bool { return w.codes("time") == string(toolspec.CodeCancelled) }, "the call of the run without time is cancelled")
	if cost := e2etest.Scalar[int](w.World, "SELECT micro_usd::int FROM agent_runs WHERE run_id = 'cost'"); cost != 4000 {
		t.Errorf("the cost is %d, want 4000", cost)
	}
}

// TestOutputLeft: a request allows the model at most as many tokens as the run has left of its limits of tokens and of cost, without the input of the
// request. The input is an estimate: the bodies of these requests have between 200 and 2000 bytes.
func TestOutputLeft(t *testing.T) {
	t.Parallel()
	on := modelserver.Script(calls(call("test__echo", "a")), modelserver.Reply{Text: "done"})
	w := newWorldOf(t, "openai", scripts{"tokens": on, "cost": on})
	w.workPriced("model", e2etest.Tool("test__echo", e2etest.Echo))
	for _, tc := range []struct {
		run   string
		limit func(*agent.Limits)
		// left is what the limits allow to each request without its input, in tokens. inputCost is how many tokens of output a token of input costs.
		left      [2]float64
		inputCost float64
	}{
		{"tokens", func(l *agent.Limits) { l.Tokens = 1000 }, [2]float64{1000, 985}, 1},
		{"cost", func(l *agent.Limits) { l.MicroUSD = 1000 }, [2]float64{500, 490}, 0.5},
	} {
		d := w.document("openai", "test__echo")
		d.Version = tc.run
		tc.limit(&d.Limits)
		w.apply(d)
		want(t, w.run(input(tc.run, tc.run)), agent.Completed, "done")
		for i, asked := range w.asks(tc.run) {
			var body struct {
				MaxTokens float64 `json:"max_completion_tokens"`
			}
			if err := json.Unmarshal(asked.Body, &body); err != nil {
				t.Fatal(err)
			}
			estimated := (tc.left[i] - body.MaxTokens) / tc.inputCost
			if real := float64(len(asked.Body)) / 4; estimated < real/2 || estimated > real {
				t.Errorf("%s: request %d has about %.0f tokens, counts as %.0f, and allows %.0f", tc.run, i, real, estimated, body.MaxTokens)
			}
		}
	}
}

// TestAnswerCut: an answer that is cut ends the run over budget if what was left of a limit has cut it. If the model's own bound has cut it, the run is completed, and
// the reason says so.
func TestAnswerCut(t *testing.T) {
	t.Parallel()
	on := modelserver.Script(calls(call("test__echo", "a")), modelserver.Reply{Text: "half", Length: true})
	w := newWorldOf(t, "openai", scripts{"tokens": on, "model": on})
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	for run, outcome := range map[string]agent.Outcome{"tokens": agent.OverBudget, "model": agent.Completed} {
		d := w.document("openai", "test__echo")
		d.Version, d.Limits.Tokens = run, 100_000
		reason := "the model did not finish its answer: length"
		if run == "tokens" {
			d.Limits.Tokens, reason = 1000, "the response was cut at what was left of the run's limit of tokens: 1000"
		}
		w.apply(d)
		result := w.run(input(run, run))
		want(t, result, outcome, "half")
		if result.Reason != reason {
			t.Errorf("%s: the reason is %q", run, result.Reason)
		}
	}
}
