package outages

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestDatabaseAway: while the database is down, calls wait for it in every step, and nothing is lost.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	p := devstacktest.OwnPostgres(t)
	w := e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered, release := make(chan struct{}), make(chan struct{})
	w.Work(worker.Tools(
		e2etest.Tool("test__read", effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__send", effects.Counted(func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			close(entered)
			<-release
			return e2etest.Echo(ctx, in, call)
		}), e2etest.Once, e2etest.Within(2*time.Minute)),
	))
	deciding := w.Start(e2etest.Invocation("deciding", "test__write", `{"text":"hello"}`))
	view := w.Waiting(deciding.WorkflowID)
	settling := w.Start(e2etest.Invocation("settling", "test__send", `{"text":"hello"}`))
	e2etest.Receive(t, entered)

	if err := p.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// While there is no database, one call is admitted, one is decided on, and the tool of one ends.
	admitting := w.Start(e2etest.Invocation("admitting", "test__read", `{"text":"hello"}`))
	if err := w.Temporal.SignalWorkflow(t.Context(), deciding.WorkflowID, "", toolspec.DecideName,
		e2etest.Approving(view.ApprovalID, e2etest.Ann)); err != nil {
		t.Fatal(err)
	}
	close(release)
	for _, name := range []string{"admit", "reviewDecision", "settle"} {
		w.Until(func() bool { return w.Log.Has("will be tried again\" activity=" + name) }, name+" is tried again")
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Result(admitting), "hello")
	e2etest.WantText(t, w.Result(deciding), "hello")
	e2etest.WantText(t, w.Result(settling), "hello")
	for _, id := range []string{"admitting", "deciding", "settling"} {
		record := w.Record(e2etest.Invocation(id, "", ""))
		if record.Outcome != "ok" || effects.Of(id) != 1 || record.Attempts != 1 || len(record.Stages) == 0 {
			t.Errorf("%s: %d runs, and the record is %+v", id, effects.Of(id), record)
		}
	}
}

// TestWorkerBeforeItsDatabase: a worker that starts while its database is down logs that, waits for the database, and then serves calls.
func TestWorkerBeforeItsDatabase(t *testing.T) {
	t.Parallel()
	p := devstacktest.OwnPostgres(t)
	w := e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy)
	if err := p.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast)))
	w.Until(func() bool {
		return w.Log.Has("the worker cannot start yet and tries again", `waitsFor="the database"`)
	}, "the worker says what it waits for")
	call := w.Start(e2etest.Invocation("read", "test__read", `{"text":"hello"}`))
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Result(call), "hello")
}
