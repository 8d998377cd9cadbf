package agents

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestProviderFaults: a provider that is overloaded, fails or cuts its stream is asked again, after the pause that it asks for. No call of a broken response
// starts, its text is ignored, and the run ends as it would without the fault (AG-03, AG-04). The usage that the provider has reported before the fault
// counts: the format anthropic reports one in its first event, and gemini in each event.
func TestProviderFaults(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"openai", "responses", "anthropic", "gemini", "ollama"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			faults := map[string][]modelserver.Reply{
				"429":  {{Status: 429, Text: "slow down", RetryAfter: "2"}},
				"500":  {{Status: 500, Text: "broken"}},
				"529":  {{Status: 529, Text: "overloaded"}, {Status: 503, Text: "overloaded"}},
				"cut":  {{Text: "half of", Calls: []modelserver.Call{call("test__echo", "never")}, Cut: 150}},
				"late": {{Text: "overloaded", Calls: []modelserver.Call{call("test__echo", "never")}, InStream: true, Status: 529}},
			}
			of := scripts{}
			for name, before := range faults {
				first, last := calls(call("test__echo", "good")), modelserver.Reply{Text: "done"}
				first.Before, last.Before = before, before
				of[name] = modelserver.Script(first, last)
			}
			w := newWorldOf(t, format, of)
			var runs e2etest.Ledger
			w.work(e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)))
			w.apply(w.document(format, "test__echo"))
			began := time.Now()
			for name := range faults {
				w.start(input(name, name))
			}
			for name, before := range faults {
				result := w.result(w.Pawl.AttachAgent(t.Context(), "acme", name))
				want(t, result, agent.Completed, "done")
				input, output := int64(20), int64(10)
				if name == "late" && format == "anthropic" {
					input, output = input+2*10, output+2*1
				} else if name == "late" && format == "gemini" {
					input, output = 2*input, 2*output
				}
				if name == "cut" || name == "late" && input == 20 {
					// The provider has reported no usage. The size of the request counts instead, for both requests.
					if result.InputTokens <= input {
						t.Errorf("%s: %d tokens of input count", name, result.InputTokens)
					}
					input = result.InputTokens
				}
				if result.Rounds != 2 || result.Calls != 1 || result.InputTokens != input || result.OutputTokens != output || w.codes(name) != "ok" || w.dones(name) != 1 {
					t.Errorf("%s: the totals are %+v, the calls %s, with %d done events", name, result.Totals, w.codes(name), w.dones(name))
				}
				if n := len(w.asks(name)); n != 2*(1+len(before)) {
					t.Errorf("%s: the model was asked %d times", name, n)
				}
			}
			if took := time.Since(began); took < 4*time.Second {
				t.Errorf("the runs took %s: nothing waited for Retry-After", took)
			}
			if n := runs.Of("r1-0"); n != len(faults) || len(runs.Counts) != 1 {
				t.Errorf("the tool ran %v times", runs.Counts)
			}
		})
	}
}

// TestProviderGone: after the last try a run ends as failed, with the status of the provider and without its text. The calls that have run stay in the record.
// An error that does not pass by itself ends the run after one try.
func TestProviderGone(t *testing.T) {
	t.Parallel()
	const text = "canary-7f21"
	w := newWorldOf(t, "openai", scripts{
		"down":    modelserver.Script(calls(call("test__echo", "a")), modelserver.Reply{Status: 503, Text: text}),
		"refused": modelserver.Script(modelserver.Reply{Status: 401, Text: text}),
		"late":    modelserver.Script(modelserver.Reply{Status: 400, Text: text, InStream: true}),
	})
	w.Secrets.Never("the provider's text", []byte(text))
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(w.document("openai", "test__echo"))
	down, refused, late := w.start(input("down", "down")), w.start(input("refused", "refused")), w.start(input("late", "late"))
	if result := w.result(refused); result.Outcome != agent.Failed || !strings.Contains(result.Reason, "401") || len(w.asks("refused")) != 1 {
		t.Errorf("the run ended %+v after %d requests", result, len(w.asks("refused")))
	}
	if result := w.result(late); result.Outcome != agent.Failed || len(w.asks("late")) != 1 {
		t.Errorf("after an error in the stream that does not pass, the run ended %+v after %d requests", result, len(w.asks("late")))
	}
	if result := w.result(down); result.Outcome != agent.Failed || !strings.Contains(result.Reason, "503") || result.Rounds != 1 || result.Calls != 1 ||
		len(w.asks("down")) != 1+6 || w.dones("down") != 1 {
		t.Errorf("the run ended %+v after %d requests", result, len(w.asks("down")))
	}
}

// TestFallback: if the model of an agent fails, its fallback model answers, also one of another format. The fallback reads the conversation so far, with the
// calls and their answers, and its calls run. The next round asks the first model again.
func TestFallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", modelserver.Script(calls(call("test__echo", "a")), modelserver.Reply{Status: 400, Text: "no"}, modelserver.Reply{Text: "back"}))
	other := modelserver.Serve(t, "anthropic", modelserver.Script(modelserver.Reply{Text: "other"}, calls(call("test__echo", "b"))))
	var runs e2etest.Ledger
	c := w.Config()
	c.ModelURLs = []string{w.model.URL.String(), other.URL.String()}
	w.workWith(c, e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)))
	d := w.document("openai", "test__echo")
	d.Fallback = &agent.Model{Format: "anthropic", Name: "other", URL: other.URL.String(), MaxTokens: 100}
	w.apply(d)
	result := w.run(input("run", "go"))
	want(t, result, agent.Completed, "back")
	if result.Rounds != 3 || result.Calls != 2 || len(runs.Counts) != 2 {
		t.Errorf("the totals are %+v, with %d runs", result.Totals, len(runs.Counts))
	}
	asked := other.Requests()
	if len(asked) != 1 || len(asked[0].Messages) != 3 {
		t.Fatalf("the other model was asked %+v", asked)
	}
	if got := asked[0].Messages; got[0].Text != "go" || len(got[1].Calls) != 1 || got[1].Calls[0].Name != "test__echo" || got[2].Results[0].Text != `{"text":"a"}` {
		t.Errorf("the other model read %+v", got)
	}
	last := w.asks("go")[2].Messages
	if len(last) != 5 || last[3].Calls[0].Name != "test__echo" || last[4].Results[0].Text != `{"text":"b"}` {
		t.Errorf("the model read %+v", last)
	}
	models := e2etest.Query[string](w.World, "SELECT format || ' ' || model FROM agent_rounds ORDER BY round")
	if strings.Join(models, ", ") != "openai model, anthropic other, openai model" {
		t.Errorf("the record has the models %v", models)
	}
	// The digest of the prompt names the model that has answered.
	plain := w.document("openai")
	plain.Name, plain.Model.URL, plain.Fallback = "plain", w.model.URL.String()+"/none", d.Fallback
	w.apply(plain)
	in := input("second", "go")
	in.Agent = "plain"
	want(t, w.run(in), agent.Completed, "other")
	plain.Model = *plain.Fallback
	hash, err := agent.PromptHash(plain, nil)
	if got := e2etest.Scalar[string](w.World, "SELECT prompt_hash FROM agent_runs WHERE run_id = 'second'"); err != nil || got != hash {
		t.Errorf("the digest of the prompt is %s, want %s, %v", got, hash, err)
	}
}

// TestNothingBeforeTheEnd: no tool starts while a response is still arriving, even if its calls are complete in the stream (AG-03).
func TestNothingBeforeTheEnd(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	w := newWorld(t, "responses", modelserver.Script(modelserver.Reply{Calls: []modelserver.Call{call("test__echo", "a"), call("test__echo", "b")}, Text: "first I say something", Hang: hang}, modelserver.Reply{Text: "done"}))
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(w.document("responses", "test__echo"))
	run := w.start(input("run", "go"))
	// The watchers of the run see the text that has arrived so far.
	w.Until(func() bool {
		return e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM run_events WHERE run_id = 'run'") > 0
	}, "the beginning of the text is an event")
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM invocations"); n != 0 {
		t.Errorf("%d calls have started", n)
	}
	close(hang)
	want(t, w.result(run), agent.Completed, "done")
}

// TestOutput: an answer that does not fit the output schema goes back to the model with the reason, and one that fits is the value of the run.
func TestOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gemini", modelserver.Script(modelserver.Reply{Text: "about seven"}, modelserver.Reply{Text: `{"count":"seven"}`}, calls(call("test__echo", "a")), modelserver.Reply{Text: `{"count":7}`}))
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	d := w.document("gemini", "test__echo")
	d.Output = json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`)
	w.apply(d)
	result := w.run(input("run", "go"))
	want(t, result, agent.Completed, `{"count":7}`)
	var value, plain any
	if json.Unmarshal(result.Value, &value) != nil || json.Unmarshal([]byte(`{"count":7}`), &plain) != nil || e2etest.AsJSON(value) != e2etest.AsJSON(plain) || result.Rounds != 4 {
		t.Errorf("the run ended %+v with the value %s", result, result.Value)
	}
	messages := w.asks("go")[3].Messages
	if !strings.Contains(messages[2].Text, "must be JSON") || !strings.Contains(messages[4].Text, "/count") {
		t.Errorf("the model was told %q and %q", messages[2].Text, messages[4].Text)
	}
}

// TestUsageOfFaults: responses that fail after their first event use up the limit of tokens, because the provider counts them too.
func TestUsageOfFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "anthropic", func(modelserver.Request) modelserver.Reply {
		return modelserver.Reply{Text: "overloaded", InStream: true, Status: 529, Usage: wire.Usage{Input: 1000, Output: 5}}
	})
	w.work()
	d := w.document("anthropic")
	d.Limits.Tokens = 2000
	w.apply(d)
	result := w.run(input("run", "go"))
	if result.Outcome != agent.OverBudget || result.InputTokens != 2000 || result.OutputTokens != 2 || result.Rounds != 0 {
		t.Errorf("the run ended %+v", result)
	}
	if n := w.model.Asked(0); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}
