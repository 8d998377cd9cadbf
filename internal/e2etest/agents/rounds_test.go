package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/toolspec"
)

// call returns a call of a tool with a text, as a model plans it.
func call(tool, text string) modelserver.Call {
	return modelserver.Call{Name: tool, Args: fmt.Sprintf(`{"text":%q}`, text)}
}

// calls returns a reply of a model with calls.
func calls(c ...modelserver.Call) modelserver.Reply { return modelserver.Reply{Calls: c} }

// TestRounds: runs of 0, 1 and 5 rounds of calls, in each format. The model reads each result under the id of its call, the run ends with
// the last text, and the usage counts once (AG-01, AG-04, BT-15).
func TestRounds(t *testing.T) {
	for _, format := range []string{"openai", "responses", "anthropic", "gemini", "ollama"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var asked int
			w := newWorld(t, format, func(r modelserver.Request) modelserver.Reply {
				rounds := 0
				if _, err := fmt.Sscanf(r.Messages[0].Text, "rounds: %d", &rounds); err != nil {
					t.Errorf("the first message is %q", r.Messages[0].Text)
				}
				asked++
				if r.Answers == rounds {
					return modelserver.Reply{Text: fmt.Sprintf("done after %d", rounds)}
				}
				reply := calls(call("test__echo", fmt.Sprintf("round %d", r.Answers)))
				if format != "openai" {
					reply.Reasoning = fmt.Sprintf("thinking %d", r.Answers)
				}
				return reply
			})
			w.work(e2etest.Tool("test__echo", e2etest.Echo))
			d := w.document(format, "test__echo")
			if format == "responses" { // it gives its reasoning back only to requests that ask for it
				d.Model.Members = map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"low"}`)}
			}
			w.apply(d)
			for _, rounds := range []int{0, 1, 5} {
				asked = 0
				run := fmt.Sprintf("run-%d", rounds)
				result := w.run(input(run, fmt.Sprintf("rounds: %d", rounds)))
				want(t, result, agent.Completed, fmt.Sprintf("done after %d", rounds))
				if result.Rounds != rounds+1 || result.Calls != rounds || result.InputTokens != int64(10*(rounds+1)) || result.OutputTokens != int64(5*(rounds+1)) {
					t.Errorf("%d rounds: the totals are %+v", rounds, result.Totals)
				}
				if asked != rounds+1 {
					t.Errorf("%d rounds: the model was asked %d times", rounds, asked)
				}
				all := strings.Join(e2etest.Query[string](w.World, "SELECT kind FROM run_events WHERE run_id = $1 ORDER BY seq", run), " ")
				if strings.Count(all, "done") != 1 || !strings.HasSuffix(all, "done") {
					t.Errorf("%d rounds: the events are %s", rounds, all)
				}
			}
		})
	}
}

// TestMalformedArguments: the model sends arguments that are not JSON, gets an error as the answer, and sends valid arguments. The record has both calls
// (AG-07).
func TestMalformedArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", modelserver.Script(
		calls(modelserver.Call{Name: "test__echo", Args: `{"text":`}),
		calls(call("test__echo", "good")),
		modelserver.Reply{Text: "done"},
	))
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(w.document("openai", "test__echo"))
	want(t, w.run(input("run", "go")), agent.Completed, "done")
	codes := e2etest.Query[string](w.World, "SELECT coalesce(error_code, 'ok') FROM invocations WHERE run_id = 'run' ORDER BY created_at")
	if strings.Join(codes, " ") != "invalid_json ok" {
		t.Errorf("the record has %v", codes)
	}
	last := w.model.Requests()[2]
	if text := last.Messages[2].Results[0].Text; !strings.Contains(text, "invalid_json") {
		t.Errorf("the model was told %q", text)
	}
	if text := last.Messages[4].Results[0].Text; !strings.Contains(text, "good") {
		t.Errorf("the model was told %q", text)
	}
}

// TestToolsOfTheAgent: a model cannot call a tool that the agent does not have or that its run excludes, even if policy allows the tool (GT-06).
func TestToolsOfTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", modelserver.Script(
		calls(call("test__echo", "a"), call("test__other", "b"), call("test__third", "c")),
		modelserver.Reply{Text: "done"},
	))
	w.work(e2etest.Tool("test__echo", e2etest.Echo), e2etest.Tool("test__other", e2etest.Echo), e2etest.Tool("test__third", e2etest.Echo))
	w.apply(w.document("openai", "test__echo", "test__other"))
	in := input("run", "go")
	in.Context.ToolIDs = []string{"test__echo", "test__third"}
	want(t, w.run(in), agent.Completed, "done")
	second := w.model.Requests()[1]
	if strings.Join(second.Tools, " ") != "test__echo" {
		t.Errorf("the model was offered %v", second.Tools)
	}
	results := second.Messages[2].Results
	for i, isDenied := range []bool{false, true, true} {
		if got := strings.Contains(results[i].Text, string(toolspec.CodePolicyDenied)); got != isDenied {
			t.Errorf("call %d: the model was told %s", i, results[i].Text)
		}
	}
}

// TestKillSwitch: a kill switch for all tools of the tenant, or for the agent, stops a run before the next request to the model.
func TestKillSwitch(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"*", "agent__helper"} {
		w := newWorld(t, "openai", nil)
		w.work()
		w.apply(w.document("openai"))
		if _, err := w.Store.KillOn(t.Context(), policies.KillScope{TenantID: "acme", Tool: tool}, "too dear", "user:sue"); err != nil {
			t.Fatal(err)
		}
		result := w.run(input("run", "go"))
		if result.Outcome != agent.Failed || !strings.Contains(result.Reason, "too dear") || len(w.model.Requests()) != 0 {
			t.Errorf("%s: the run ended %+v after %d requests", tool, result, len(w.model.Requests()))
		}
	}
}
