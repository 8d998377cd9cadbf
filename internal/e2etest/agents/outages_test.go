package agents

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
)

// outage makes two runs and stops a server while the model of one run is being asked and a call of the other one runs. tried waits until both runs have tried
// to go on.
func outage(t *testing.T, w *world, thought chan struct{}, stop, start func() error, tried func()) {
	t.Helper()
	var runs e2etest.Ledger
	hung := e2etest.NewHung()
	slow := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		runs.Add(call)
		return hung.Run(ctx, in, call)
	}
	w.work(e2etest.Tool("test__held", slow, e2etest.Once, e2etest.Within(2*time.Minute)), e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)))
	w.apply(w.document("openai", "test__held", "test__echo"))
	w.start(input("thinks", "thinks"))
	w.start(input("calls", "calls"))
	e2etest.Receive(t, hung.Entered)
	w.Until(func() bool { return len(w.asks("thinks")) == 1 }, "the model is asked")
	w.say("thinks", "m1", "one")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	close(thought)
	close(hung.Release)
	tried()
	if err := start(); err != nil {
		t.Fatal(err)
	}
	w.whole("calls", 2, 2)
	// The response that was not recorded at once is not requested again.
	w.whole("thinks", 2, 2)
	asks := w.asks("thinks")
	if got := said(asks[len(asks)-1]); got != "thinks, one" {
		t.Errorf("the model got %q", got)
	}
	for id, n := range runs.Counts {
		if n != 2 { // once in each run
			t.Errorf("%s ran %d times", id, n)
		}
	}
}

func outageScripts(thought chan struct{}) func(modelserver.Request) modelserver.Reply {
	thinking := calls(call("test__echo", "a"))
	thinking.Delay = thought
	return pick(scripts{
		"thinks": modelserver.Script(thinking, modelserver.Reply{Text: "done"}),
		"calls":  modelserver.Script(calls(call("test__held", "a")), modelserver.Reply{Text: "done"}),
	})
}

// TestDatabaseAwayInRun: the database is stopped while a model thinks and while a call runs, and comes back.
func TestDatabaseAwayInRun(t *testing.T) {
	t.Parallel()
	thought := make(chan struct{})
	p := devstacktest.OwnPostgres(t)
	w := &world{e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy), modelserver.Serve(t, "openai", outageScripts(thought))}
	outage(t, w, thought, func() error { return p.StopImmediate(t.Context()) }, func() error { return p.Restart(t.Context()) }, func() {
		w.Until(func() bool { return w.Log.Has("the response of a model waits for the database") }, "the response cannot be recorded")
		w.Until(func() bool { return w.Log.Has(`will be tried again" activity=settle `) }, "the call waits for the database")
	})
}

// TestTemporalAwayInRun: Temporal is killed while a model thinks and while a call runs, and comes back.
func TestTemporalAwayInRun(t *testing.T) {
	t.Parallel()
	thought := make(chan struct{})
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{FileStore: true})
	w := &world{e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy), modelserver.Serve(t, "openai", outageScripts(thought))}
	outage(t, w, thought, server.Kill, func() error { return server.Restart(t.Context()) }, func() {
		w.Until(func() bool {
			return e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_rounds WHERE run_id = 'thinks'") == 1
		}, "the response is recorded")
	})
}
