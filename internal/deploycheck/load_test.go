package deploycheck

import (
	"fmt"
	"net/url"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/agent"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// TestMonitoringOfLoad makes the faults that rules see in rates over minutes: a provider of models refuses, a privilege is gone, a lock holds all
// connections, a worker does not get the processor. As in TestMonitoring a real Prometheus reads a real worker, fires the alert of each
// fault, and ends it when the fault is over.
func TestMonitoringOfLoad(t *testing.T) {
	t.Parallel()
	program := needProgram(t, "prometheus")
	w := &watchedWorld{World: e2etest.NewWorld(t, e2etest.PlainPolicy)}
	var overloaded atomic.Bool
	model := modelserver.Serve(t, "anthropic", func(modelserver.Request) modelserver.Reply {
		if overloaded.Load() {
			return modelserver.Reply{Status: 529, Text: "overloaded"}
		}
		return modelserver.Reply{Text: "done"}
	})
	w.applyHelper(model)
	database, err := url.Parse(w.Database)
	if err != nil {
		t.Fatal(err)
	}
	query := database.Query()
	query.Set("role", "pawl_worker") // the tables belong to another user
	database.RawQuery = query.Encode()
	at := "127.0.0.1:" + freePort(t)
	worker := w.ServeInChildWith("PAWL_HEALTH_LISTEN="+at, "PAWL_DATABASE_URL="+database.String(), "PAWL_DATABASE_CONNECTIONS=4",
		"PAWL_WORKSPACE="+w.Workspace, "PAWL_MODEL_URLS="+model.URL.String())
	p := startPrometheus(t, program, steady, at)
	w.Result(w.Start(w.writes("first")))
	w.RunResult(w.asks())
	p.quiet(t)

	// The provider is overloaded, and the worker may not write claims any more.
	overloaded.Store(true)
	e2etest.Query[int](w.World, `REVOKE INSERT ON claims FROM pawl_worker`)
	p.fire(t, w.World, every(func() {
		w.asks()
		w.Start(w.writes("refused"))
	}), "PawlModelsFail", "PawlStepsFail")
	overloaded.Store(false)
	e2etest.Query[int](w.World, `GRANT INSERT ON claims TO pawl_worker`)
	p.clear(t, w.World, "PawlModelsFail", "PawlStepsFail")

	// Somebody locks a table that every write needs. Statements on other tables wait for a connection.
	unlock := w.LockTable("claims")
	p.fire(t, w.World, every(func() {
		for range 4 {
			w.Start(w.writes("locked"))
		}
	}), "PawlPoolExhausted")
	unlock()
	p.clear(t, w.World, "PawlPoolExhausted", "PawlStepsFail")

	p.fire(t, w.World, func() { w.starve(worker) }, "PawlWorkersBusy")
	p.clear(t, w.World, "PawlWorkersBusy")
	if len(p.broken) > 0 {
		t.Errorf("annotations of alerts are faulty: %q", p.broken)
	}
}

// quiet checks that none of the alerts of TestMonitoringOfLoad fires before its fault.
func (p *scraper) quiet(t *testing.T) {
	t.Helper()
	firing := p.firing()
	for _, name := range []string{"PawlModelsFail", "PawlStepsFail", "PawlPoolExhausted", "PawlWorkersBusy"} {
		if firing[name] {
			t.Errorf("%s fires without a fault", name)
		}
	}
}

// applyHelper makes an agent that asks the model and has no tools.
func (w *watchedWorld) applyHelper(model *modelserver.Server) {
	w.T.Helper()
	if _, err := w.Store.ApplyAgent(w.T.Context(), agent.Document{
		Name: "helper", Version: "1", Instructions: "Help.",
		Model:  agent.Model{Format: "anthropic", Name: "model", URL: model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 5, Calls: 5, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
}

// asks starts a run of the agent.
func (w *watchedWorld) asks() *pawl.AgentRun {
	w.T.Helper()
	w.n++
	return w.StartRun(agent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: fmt.Sprint("run-", w.n), ActorID: e2etest.Actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "Help me."}}}},
	})
}

// writes returns a call that writes a claim.
func (w *watchedWorld) writes(word string) toolspec.Invocation {
	w.T.Helper()
	w.n++
	id := fmt.Sprintf("%s-%d", word, w.n)
	return e2etest.Invocation(id, "test__write", fmt.Sprintf(`{"text":%q}`, w.file(id)))
}

// starve takes the processor from a worker for 3 seconds, in which 30 calls start, and gives it back until the calls have ended.
func (w *watchedWorld) starve(worker *exec.Cmd) {
	w.T.Helper()
	signal := func(s syscall.Signal) {
		if err := worker.Process.Signal(s); err != nil {
			w.T.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	over := time.NewTimer(3 * time.Second)
	defer over.Stop()
	var calls []*pawl.Call
	for range 30 {
		w.n++
		id := fmt.Sprint("late-", w.n)
		calls = append(calls, w.Start(e2etest.Invocation(id, "test__fast", fmt.Sprintf(`{"text":%q}`, w.file(id)))))
	}
	<-over.C
	signal(syscall.SIGCONT)
	for _, call := range calls {
		w.Result(call)
	}
}
