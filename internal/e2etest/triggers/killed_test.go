package triggers

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/e2etest"
)

// TestKilledServer: the server is killed between the check of a signature and the start of the run, or between the start and its record. The sender gets no 2xx
// status and sends the webhook again, and there is one run.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"before the start": "ACCESS EXCLUSIVE", "after the start": "SHARE"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.apply(triage)
			w.serve()
			isHeld, release := w.holdEvents(mode)
			now, got := time.Now(), make(chan int, 1)
			r := w.request("msg_1", now, event(1, "x"))
			go func() { got <- w.send(r) }()
			w.Until(isHeld, "the server waits")
			w.serves.Kill()
			if status := <-got; status != 0 {
				t.Errorf("the killed server has answered %d", status)
			}
			release()
			w.serve()
			w.sends(http.StatusAccepted, w.request("msg_1", now, event(1, "x")), "the next delivery")
			w.Until(func() bool { return w.runs() == 1 }, "the run ends")
			if runs, rows := e2etest.Query[int](w.World, "SELECT count(*)::int FROM agent_runs")[0], e2etest.Query[int](w.World, "SELECT count(*)::int FROM trigger_events WHERE run_id IS NOT NULL")[0]; runs != 1 || rows != 1 || len(w.model.Requests()) != 1 {
				t.Errorf("there are %d runs, %d rows of events, and the model was asked %d times", runs, rows, len(w.model.Requests()))
			}
		})
	}
}

// holdEvents locks the table of events, so that statements that read or write it wait until release is called. isHeld reports whether a statement
// waits that is not the statement with which a worker drops old events at its start.
func (w *world) holdEvents(mode string) (isHeld func() bool, release func()) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE trigger_events IN "+mode+" MODE"); err != nil {
		w.T.Fatal(err)
	}
	isHeld = func() bool {
		// The databases of tests have the same template, so their tables have the same numbers.
		return e2etest.Scalar[bool](w.World, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'trigger_events'::regclass
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND pid IN (SELECT pid FROM pg_stat_activity WHERE query NOT LIKE 'WITH dropped AS%'))`)
	}
	return isHeld, func() {
		if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
			w.T.Fatal(err)
		}
	}
}
