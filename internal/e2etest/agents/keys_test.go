package agents

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/worker"
)

// TestKeyOfTheModel: a run asks its model with the key of a connection for which its actor has a grant. The key must be only in the sealed row and in the
// request, also if the provider repeats it in an error. At its end the test searches everything that it has stored for the key.
func TestKeyOfTheModel(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-41d7a9f0c2"
	w := newWorldOf(t, "openai", scripts{
		"granted": modelserver.Script(calls(call("test__echo", "a")), modelserver.Reply{Text: "done"}),
		"refused": modelserver.Script(modelserver.Reply{Status: 401, Text: "wrong key: " + key}),
		"broken": modelserver.Script(modelserver.Reply{Text: "done", Before: []modelserver.Reply{
			{Status: 500, Text: "key " + key}, {Status: 529, Text: "key " + key},
		}}),
	})
	v := e2etest.NewVault(w.World)
	host := w.model.URL.Host
	provider := broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{host}, Insecure: true}
	v.Add("model", provider, key)
	w.workWith(v.Config(), e2etest.Tool("test__echo", e2etest.Echo))
	d := w.document("openai", "test__echo")
	d.Model.URL, d.Model.Connection = "", "model"
	w.apply(d)

	// Nobody has granted the connection yet.
	result := w.run(input("early", "granted"))
	if result.Outcome != agent.Failed || !strings.Contains(result.Reason, "grant") || len(w.model.Requests()) != 0 {
		t.Errorf("without a grant the run ended %+v, after %d requests", result, len(w.model.Requests()))
	}
	v.Grant("model", e2etest.Actor)
	want(t, w.run(input("granted", "granted")), agent.Completed, "done")
	want(t, w.run(input("broken", "broken")), agent.Completed, "done")
	if result := w.run(input("refused", "refused")); result.Outcome != agent.Failed || !strings.Contains(result.Reason, "401") {
		t.Errorf("the run ended %+v", result)
	}
	for i, r := range w.model.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("request %d came with the key %q", i, got)
		}
	}
	// Another actor has no grant. A subject gives an actor rights for tools only.
	other := input("other", "granted")
	other.Context.ActorID = "agent:other"
	if result := w.run(other); result.Outcome != agent.Failed {
		t.Errorf("without a grant the run ended %+v", result)
	}
	v.Revoke("model", e2etest.Actor)
	if result := w.run(input("late", "granted")); result.Outcome != agent.Failed {
		t.Errorf("after the grant was revoked the run ended %+v", result)
	}
}

// TestSecretsOfAModel: a model repeats its own key and a secret of the worker in its text, its reasoning and its calls. Neither may get into the record, the
// events or the history, and at its end the test searches everything that it has stored for both. A call that contains one of them does not start.
func TestSecretsOfAModel(t *testing.T) {
	t.Parallel()
	const key, own = "sk-canary-0b7d55e1f9", "own-canary-93a1c4d2e7"
	hang := make(chan struct{})
	first := modelserver.Reply{
		Reasoning: "my key is " + key, Text: "you ask with " + key + " as your key", Hang: hang,
		Calls: []modelserver.Call{call("test__echo", own), call("test__echo", "fine"), {ID: key, Name: "test__echo", Args: `{"text":"` + key[:9] + `\u002d` + key[10:] + `"}`}},
	}
	w := newWorld(t, "anthropic", modelserver.Script(first, modelserver.Reply{Text: "done with " + own}))
	v := e2etest.NewVault(w.World)
	w.Secrets.Never("own", []byte(own))
	v.Add("model", broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{w.model.URL.Host}, Insecure: true}, key)
	v.Grant("model", e2etest.Actor)
	var runs e2etest.Ledger
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__echo", runs.Counted(e2etest.Echo))), worker.Secret("own", []byte(own)))
	d := w.document("anthropic", "test__echo")
	d.Model.URL, d.Model.Connection = "", "model"
	w.apply(d)
	run := w.start(input("run", "go"))
	shown := func() string {
		return strings.Join(e2etest.Query[string](w.World, "SELECT detail #>> '{}' FROM run_events WHERE run_id = 'run' AND kind = 'text_delta' ORDER BY seq"), "")
	}
	// The first delta ends in the middle of the key. The last word is held back until the following text is known.
	w.Until(func() bool { return shown() == "you ask with [redacted] as your " }, "the text is shown while it arrives")
	close(hang)
	want(t, w.result(run), agent.Completed, "done with [redacted]")
	if got := shown(); got != "you ask with [redacted] as your keydone with [redacted]" {
		t.Errorf("the watchers saw %q", got)
	}
	plan := e2etest.Scalar[string](w.World, "SELECT plan::text FROM agent_rounds WHERE round = 1")
	if !strings.Contains(plan, "you ask with [redacted] as your key") || strings.Contains(plan, "canary") {
		t.Errorf("the record has %s", plan)
	}
	if w.codes("run") != "ok" || runs.Of("r1-1") != 1 || len(runs.Counts) != 1 {
		t.Errorf("the calls are %s, and the tool ran %v", w.codes("run"), runs.Counts)
	}
	if got := answersIn(t, w.asks("go")); len(got) != 3 || !strings.Contains(got[0], "credential") || !strings.Contains(got[2], "credential") {
		t.Errorf("the model was told %q", got)
	}
}

// TestLogsSayNothing: the log of a worker has, at every level, no text of a message, of a response, of the result of a tool or of the error of a provider
// (OB-05).
func TestLogsSayNothing(t *testing.T) {
	t.Parallel()
	const canary = "canary-8c55d1"
	w := newWorld(t, "anthropic", modelserver.Script(
		modelserver.Reply{Text: canary + "-said", Calls: []modelserver.Call{call("test__echo", canary+"-argument"), {Name: "test__echo", Args: `{"` + canary + `":`}},
			Before: []modelserver.Reply{{Status: http.StatusInternalServerError, Text: canary + "-error"}, {Text: canary, Cut: 200}}},
		modelserver.Reply{Text: canary + "-done"},
	))
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	d := w.document("anthropic", "test__echo")
	d.Instructions = canary + "-instructions"
	w.apply(d)
	run := w.start(input("run", canary+"-input"))
	want(t, w.result(run), agent.Completed, canary+"-done")
	// The model has got all these texts.
	if got := fmt.Sprint(w.asks(canary + "-input")); !strings.Contains(got, canary+"-argument") || !strings.Contains(got, canary+"-instructions") {
		t.Errorf("the requests were %s", e2etest.Clipped(got))
	}
	if log := w.Log.String(); strings.Contains(log, canary) || !strings.Contains(log, "a model provider gave no response") {
		at := max(0, strings.Index(log, canary)-200)
		t.Errorf("the log says %s", log[at:min(len(log), at+400)])
	}
}
