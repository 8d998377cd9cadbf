package triggers

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// watcher returns the document of a trigger for events of Pawl.
func watcher(name, options, prompt string) string {
	return "name: " + name + "\nversion: \"1\"\ntenant: acme\nactor: agent:watcher\nagent: watcher\non: pawl\npawl: " + options + "\nprompt: \"" + prompt + "\"\n"
}

// newWatched makes a world without a worker. A run that starts with the message "go", as the runs of the agent helper do, calls tool. Every other run, such as
// those of the agent watcher, calls test__fast.
func newWatched(t *testing.T, tool string) *world {
	t.Helper()
	w := &world{World: e2etest.NewWorld(t, e2etest.PlainPolicy)}
	w.model = modelserver.Serve(t, "openai", func(r modelserver.Request) modelserver.Reply {
		call := modelserver.Call{Name: "test__fast", Args: `{"text":"effects"}`}
		if r.Messages[0].Text == "go" {
			call.Name = tool
		}
		return modelserver.Script(modelserver.Reply{Calls: []modelserver.Call{call}}, modelserver.Reply{Text: "done"})(r)
	})
	for _, name := range []string{"helper", "watcher"} {
		if _, err := w.Store.ApplyAgent(t.Context(), agent.Document{
			Name: name, Version: "1", Instructions: "Help.", Tools: []string{"test__asked", "test__fast"},
			Model:  agent.Model{Format: "openai", Name: "model", URL: w.model.URL.String(), MaxTokens: 1000},
			Limits: agent.Limits{Rounds: 20, Calls: 50, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
		}, "e2etest"); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// goes starts the run of the agent helper.
func (w *world) goes() {
	w.T.Helper()
	w.StartRun(agent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: e2etest.Actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "go"}}}},
	})
}

// TestOwnEvents: a request for an approval, the end of a call and the end of a run each start one run with the rights of the trigger. The calls and the ends of
// these started runs start no further run.
func TestOwnEvents(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "test__asked")
	w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
	for _, document := range []string{
		watcher("asked", "{event: approval_requested, tools: [test__asked]}", "{{approval.tool}} {{approval.effect}} {{approval.requestedBy}} {{approval.runId}}"),
		watcher("denied", "{event: call_ended, tools: [test__asked], outcomes: [approval_denied]}", "{{call.tool}} {{call.outcome}} {{call.actor}}"),
		watcher("fine", "{event: call_ended, tools: [test__asked], outcomes: [ok]}", "{{call.tool}}"),
		watcher("calls", "{event: call_ended}", "{{call.runId}}"),
		watcher("ended", "{event: run_ended}", "{{run.id}} {{run.agent}} {{run.outcome}} {{run.calls}}"),
		watcher("failed", "{event: run_ended, outcomes: [failed]}", "{{run.id}}"),
		watcher("others", "{event: run_ended, agents: [watcher]}", "{{run.id}}"),
	} {
		w.apply(document)
	}
	w.goes()
	id := toolspec.Identity{TenantID: "acme", RunID: "run"}
	w.Until(func() bool {
		for _, call := range e2etest.Query[string](w.World, "SELECT tool_call_id FROM approvals JOIN invocations USING (invocation_id)") {
			id.ToolCallID = call
		}
		return id.ToolCallID != ""
	}, "a person is asked")
	view := w.Waiting(id.WorkflowID())
	w.Decide(id.WorkflowID(), toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Deny, Approver: e2etest.Ann})
	w.Until(func() bool { return w.runs() == 5 }, "four runs of the watcher and the run of the helper end")
	// The statement that ends a run also queues its event. The row of an event is written before the event is removed from the queue.
	w.wants(`SELECT name || ' ' || event_id FROM trigger_queue UNION SELECT name || ' ' || event_id FROM trigger_events WHERE run_id IS NOT NULL ORDER BY 1`,
		"asked approval_requested:"+view.ApprovalID, "calls call_ended:"+id.InvocationID(), "denied call_ended:"+id.InvocationID(), "ended run_ended:run")
	w.wants("SELECT DISTINCT input #>> '{context,tenantId}' || ' ' || (input #>> '{context,actorId}') FROM agent_runs WHERE run_id <> 'run'", "acme agent:watcher")
	var said []string
	for _, r := range w.model.Requests() {
		if text := r.Messages[0].Text; text != "go" && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		`] approval.tool = "test__asked"`, `] approval.effect = "external_side_effect"`, `] approval.requestedBy = "` + e2etest.Actor + `"`, `] approval.runId = "run"`,
		`] call.outcome = "approval_denied"`, `] call.actor = "` + e2etest.Actor + `"`, `] run.agent = "helper"`, `] run.outcome = "completed"`, `] run.calls = 1`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no run was told %s: %s", want, all)
		}
	}
	w.pawl(true, "asked 1 active pawl watcher agent:watcher", "trigger", "list")
}

func (w *world) wants(sql string, want ...string) {
	w.T.Helper()
	if got := e2etest.Query[string](w.World, sql); !slices.Equal(got, want) {
		w.T.Errorf("got %q, want %q", got, want)
	}
}

// TestOwnEventsOfKilledWorker: the worker is killed between the event and the start of its run, or between the start and its record. Another worker starts the
// run, and there is only one run.
func TestOwnEventsOfKilledWorker(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"before the start": "ACCESS EXCLUSIVE", "after the start": "SHARE"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t, "test__fast")
			first := w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
			w.apply(watcher("ended", "{event: run_ended}", "{{run.id}}"))
			isHeld, release := w.holdEvents(mode)
			w.goes()
			w.Until(isHeld, "the worker waits")
			e2etest.Kill(first)
			release()
			// Make the event due again, as if its lease of a minute had ended.
			w.wants("UPDATE trigger_queue SET next_at = now() RETURNING event_id", "run_ended:run")
			w.ServeInChildWith("PAWL_MODEL_URLS=" + w.model.URL.String())
			w.Until(func() bool {
				return w.runs() == 2 && e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM trigger_queue") == 0
			}, "the run of the event ends")
			w.wants("SELECT event_id FROM trigger_events WHERE run_id IS NOT NULL", "run_ended:run")
			// If the worker was killed while the run of the event was asking the model, the model is asked once more.
			n, asked := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_runs"), len(w.model.Requests())
			if n != 2 || asked != 4 && (asked != 5 || mode == "ACCESS EXCLUSIVE") {
				t.Errorf("there are %d runs, and the model was asked %d times", n, asked)
			}
		})
	}
}
