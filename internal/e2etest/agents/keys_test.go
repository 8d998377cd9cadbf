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
)

// TestKeyOfTheModel: a run asks its model with the key of a connection for which its actor has a grant. The key is nowhere but in the sealed
// row and in the request, also if the provider repeats it in an error: the world of the test is searched for it at the end.
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
	// A subject lends its rights for tools, and another actor has none.
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

// TestLogsSayNothing: neither the messages of a run, nor what its model says or its tools give, nor what a provider says of an error is in the
// log of a worker, at any level (OB-05).
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
	// The model has got all of it.
	if got := fmt.Sprint(w.asks(canary + "-input")); !strings.Contains(got, canary+"-argument") || !strings.Contains(got, canary+"-instructions") {
		t.Errorf("the requests were %s", e2etest.Clipped(got))
	}
	if log := w.Log.String(); strings.Contains(log, canary) || !strings.Contains(log, "a model provider gave no response") {
		at := max(0, strings.Index(log, canary)-200)
		t.Errorf("the log says %s", log[at:min(len(log), at+400)])
	}
}
