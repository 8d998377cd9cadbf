package e2etest

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestDatabaseAway: calls that meet a database that is away wait for it, wherever they are, and lose nothing.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	p := devstacktest.OwnPostgres(t)
	w := newWorldOn(t, devstacktest.Temporal(t), p.URL(), plainPolicy)
	var effects ledger
	entered, release := make(chan struct{}), make(chan struct{})
	w.work(worker.Tools(
		tool("test__read", effects.counted(echo), fast),
		tool("test__write", effects.counted(echo), once, risky),
		tool("test__send", effects.counted(func(ctx context.Context, in in, call toolspec.Call) (out, error) {
			close(entered)
			<-release
			return echo(ctx, in, call)
		}), once, within(2*time.Minute)),
	))
	deciding := w.start(invocation("deciding", "test__write", `{"text":"hello"}`))
	view := w.waiting(deciding.WorkflowID)
	settling := w.start(invocation("settling", "test__send", `{"text":"hello"}`))
	receive(t, entered)

	if err := p.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// One is admitted, one is decided on and one comes to its end while there is no database.
	admitting := w.start(invocation("admitting", "test__read", `{"text":"hello"}`))
	if err := w.temporal.SignalWorkflow(t.Context(), deciding.WorkflowID, "", toolspec.DecideName, approval(view.ApprovalID, ann)); err != nil {
		t.Fatal(err)
	}
	close(release)
	for _, name := range []string{"admit", "reviewDecision", "settle"} {
		w.until(func() bool { return w.log.has("will be tried again\" activity=" + name) }, name+" is tried again")
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantText(t, w.result(admitting), "hello")
	wantText(t, w.result(deciding), "hello")
	wantText(t, w.result(settling), "hello")
	for _, id := range []string{"admitting", "deciding", "settling"} {
		record := w.record(invocation(id, "", ""))
		if record.Outcome != "ok" || effects.of(id) != 1 || record.Attempts != 1 || len(record.Stages) == 0 {
			t.Errorf("%s: %d runs, and the record is %+v", id, effects.of(id), record)
		}
	}
}

// TestWorkerBeforeItsDatabase: a worker that starts without its database says so, waits and serves.
func TestWorkerBeforeItsDatabase(t *testing.T) {
	t.Parallel()
	p := devstacktest.OwnPostgres(t)
	w := newWorldOn(t, devstacktest.Temporal(t), p.URL(), plainPolicy)
	if err := p.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.work(worker.Tools(tool("test__read", echo, fast)))
	w.until(func() bool { return w.log.has("the database is not there; trying again") }, "the worker says what it waits for")
	call := w.start(invocation("read", "test__read", `{"text":"hello"}`))
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantText(t, w.result(call), "hello")
}
