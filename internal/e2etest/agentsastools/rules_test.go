package agentsastools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

type scripts = map[string]func(modelserver.Request) modelserver.Reply

// TestRun: a call runs another agent as a child workflow. The calls of that agent belong to the calling run, with its actor and session, and its usage counts
// for the calling run (GT-01, GT-06).
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead:     modelserver.Script(calls(delegate(research, "find it")), say("all done")),
		research: modelserver.Script(calls(echo("test__echo", "a")), say("found it")),
	})
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(lead, nil, "test__echo")
	w.apply(research, nil, "test__echo")
	result := w.run("run")
	if result.Outcome != agent.Completed || result.Text != "all done" {
		t.Fatalf("the run ended %+v", result)
	}
	if result.Rounds != 2 || result.Calls != 1 || result.InputTokens != 40 || result.OutputTokens != 20 {
		t.Errorf("the totals are %+v", result.Totals)
	}
	wantHas(t, w.answers(lead)[0], `"outcome":"completed"`, `"text":"found it"`, `"agent":"research"`)
	for _, r := range w.model.Requests() {
		switch r.Model {
		case lead:
			wantHas(t, string(r.Body), "- research: Does research.")
			if got := strings.Join(r.Tools, " "); got != "test__echo core__run_agent" {
				t.Errorf("lead was offered %s", got)
			}
		case research:
			if got := strings.Join(r.Tools, " "); got != "test__echo" {
				t.Errorf("research was offered %s", got)
			}
		}
	}
	of := e2etest.Query[string](w.World, "SELECT tool_call_id FROM invocations WHERE tenant_id = 'acme' AND run_id = 'run' ORDER BY created_at")
	if strings.Join(of, " ") != "r1-0 r1-0.r1-0" {
		t.Errorf("the calls of the run are %v", of)
	}
	child := w.Describe(agent.WorkflowID("acme", childOf("run", "r1-0"))).GetWorkflowExecutionInfo()
	if child.GetParentExecution().GetWorkflowId() != agent.WorkflowID("acme", "run") {
		t.Errorf("the parent of the run of the agent is %v", child.GetParentExecution())
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::integer FROM run_events WHERE kind = 'done'"); n != 1 {
		t.Errorf("the watchers were told %d times that the run has ended", n)
	}
}

// TestAgentsOfTheAgent: a call of an agent that the document does not list, or that policy denies, is denied, and no run starts. A call that no model has
// planned starts no run either (GT-02).
func TestAgentsOfTheAgent(t *testing.T) {
	t.Parallel()
	rules := strings.ReplaceAll(e2etest.PlainPolicy, `"core__*", `, "")
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead: modelserver.Script(calls(delegate("other", "x")), say("done")), "other": modelserver.Script(say("other ran")),
		"denied": modelserver.Script(calls(delegate(research, "x")), say("done")),
	})
	w.work()
	w.apply(lead, nil)
	w.apply("other", nil)
	w.run("run")
	wantHas(t, w.answers(lead)[0], string(toolspec.CodePolicyDenied))

	// Another program makes a call that names the run.
	foreign := e2etest.Invocation("foreign", agent.RunTool, `{"agent":"research","task":"x"}`)
	e2etest.WantCode(t, w.Invoke(foreign), toolspec.CodeExecution)
	foreign.ToolCallID, foreign.Context.RunID = "nobody", "nobody"
	e2etest.WantCode(t, w.Invoke(foreign), toolspec.CodeExecution)

	w.Apply(rules)
	w.apply(research, nil)
	w.apply("denied", func(d *agent.Document) { d.Agents = []string{research} })
	denied := input("denied")
	denied.Agent = "denied"
	if r := w.result(w.start(denied)); r.Outcome != agent.Completed {
		t.Errorf("the run ended %+v", r)
	}
	wantHas(t, w.answers("denied")[0], string(toolspec.CodePolicyDenied))
	if w.children() != 0 || w.asked("other") != 0 {
		t.Errorf("%d runs were started", w.children())
	}
}

// TestDepth: an agent that another agent runs cannot run agents itself. A call of it that tries to is refused, also under the id of its own run. A call that
// no model has planned starts no child run of a running agent (GT-03).
func TestDepth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead:     modelserver.Script(calls(delegate(research, "x")), say("done")),
		research: modelserver.Script(calls(delegate(research, "deeper")), calls(echo("test__asked", "a")), say("found it")),
	})
	w.work(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Risky))
	w.apply(lead, nil, "test__asked")
	w.apply(research, func(d *agent.Document) { d.Agents = []string{research} }, "test__asked", agent.RunTool)
	run := w.start(input("run"))
	asked := invocation("run", "r1-0.r2-0").WorkflowID()
	w.Waiting(asked)
	// The run of research is open.
	for _, id := range []string{"run", childOf("run", "r1-0")} {
		inv := e2etest.Invocation("foreign", agent.RunTool, `{"agent":"research","task":"x"}`)
		inv.Context.RunID = id
		e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeExecution)
	}
	w.Approve(asked)
	w.result(run)
	wantHas(t, w.answers(research)[0], string(toolspec.CodePolicyDenied))
	if w.children() != 1 {
		t.Errorf("%d runs were started", w.children())
	}
}

// TestOutput: when an agent answers with 200 KiB of text, the calling model gets 4 KiB and a reference, with which it reads the rest (GT-04).
func TestOutput(t *testing.T) {
	t.Parallel()
	long := "it begins " + strings.Repeat("0123456789", 20<<10) + " it ends"
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead: func(r modelserver.Request) modelserver.Reply {
			switch r.Answers {
			case 0:
				return calls(delegate(research, "x"))
			case 1:
				var answer struct {
					OutputRef string `json:"output_ref"`
				}
				_ = json.Unmarshal([]byte(r.Messages[len(r.Messages)-1].Results[0].Text), &answer)
				return calls(modelserver.Call{Name: "core__tool_output_cache_grep", Args: `{"ref_id":"` + answer.OutputRef + `","pattern":"it ends"}`})
			}
			return say("done")
		},
		research: modelserver.Script(say(long)),
	})
	w.work()
	w.apply(lead, nil, "core__tool_output_cache_grep")
	w.apply(research, nil)
	w.run("run")
	answers := w.answers(lead)
	if len(answers) != 2 || len(answers[0]) > agent.MaxAnswer+400 {
		t.Fatalf("lead was told %d texts, the first of %d bytes", len(answers), len(answers[0]))
	}
	wantHas(t, answers[0], "it begins", `"truncated":true`, `"output_ref":"`)
	wantHas(t, answers[1], "it ends", `"matches":`)
	// Another run cannot read it.
	foreign := e2etest.Invocation("foreign", "core__tool_output_cache", `{"ref_id":"`+toolspec.AnswerRef(invocation("run", "r1-0").InvocationID())+`"}`)
	foreign.Context.RunID = "other"
	e2etest.WantCode(t, w.Invoke(foreign), toolspec.CodeExecution)
}

// TestNarrowedTools: an agent cannot use a tool that the calling agent or its run does not have, even if its own document and policy allow the tool (GT-06).
func TestNarrowedTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead:     modelserver.Script(calls(delegate(research, "x")), say("done")),
		research: modelserver.Script(calls(echo("test__echo", "a"), echo("test__other", "b"), echo("test__third", "c")), say("found it")),
	})
	w.work(e2etest.Tool("test__echo", e2etest.Echo), e2etest.Tool("test__other", e2etest.Echo), e2etest.Tool("test__third", e2etest.Echo))
	w.apply(lead, nil, "test__echo", "test__third")
	w.apply(research, nil, "test__echo", "test__other", "test__third")
	in := input("run")
	in.Context.ToolIDs = []string{"test__echo", "test__other", agent.RunTool}
	w.result(w.start(in))
	for i, isDenied := range []bool{false, true, true} {
		if got := strings.Contains(w.answers(research)[i], string(toolspec.CodePolicyDenied)); got != isDenied {
			t.Errorf("call %d: the model was told %s", i, w.answers(research)[i])
		}
	}
}
