package e2etest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/worker"
)

// lock keeps everybody else off a table until release is called.
func (w *world) lock(table string) (release func()) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, `BEGIN; LOCK TABLE `+pgx.Identifier{table}.Sanitize()+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
			w.t.Fatal(err)
		}
	}
}

// holdInserts makes everybody who admits a call wait until release is called: while the statement runs, not already while it is prepared, as
// a lock on the table would.
func (w *world) holdInserts() (release func()) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close(ctx) })
	for _, sql := range []string{
		`SELECT pg_advisory_lock(4711)`,
		`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'`,
		`CREATE TRIGGER hold BEFORE INSERT ON invocations FOR EACH ROW EXECUTE FUNCTION hold()`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			w.t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock(4711)`); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestSlowAdmission: an admit that takes many seconds is given up after two, each time, and what was given up does not happen later.
func TestSlowAdmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once)))
	release := w.lock("invocations")
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	began := time.Now()
	call := w.start(inv)
	// Two seconds each, and 0.1, 0.8 and 6.4 between them.
	const gaveUp = `will be tried again" activity=admit reason="postgres: admit: `
	w.until(func() bool { return strings.Count(w.log.String(), gaveUp) >= 3 }, "admit is given up three times")
	release()
	wantText(t, w.result(call), "hello")
	record := w.record(inv)
	if record.Epoch != 1 || effects.of("send") != 1 {
		t.Errorf("epoch %d and %d effects: what was given up was admitted all the same", record.Epoch, effects.of("send"))
	}
	w.bounded(call.WorkflowID, 40+longer(began, 20*time.Second))
}

// TestAbandonedAdmit: an admit that its worker has given up, and that happens all the same, shuts nobody out: there is one record, and the
// call goes on in it.
func TestAbandonedAdmit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	proxy := w.proxied()
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once)))
	wantText(t, w.invoke(invocation("before", "test__send", `{"text":"hello"}`)), "hello")
	release := w.holdInserts()
	inv := invocation("send", "test__send", `{"text":"hello"}`)
	call := w.start(inv)
	waits := func() bool {
		return scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) > 0
	}
	tries := func() int { return strings.Count(w.log.String(), `will be tried again" activity=admit `) }
	before := 0
	w.until(func() bool {
		if !waits() {
			return false
		}
		// From here on neither an answer comes back, nor does the wish to cancel get there; it may have been there before.
		before = tries()
		set(t, proxy, tcpproxy.BlackHole)
		if waits() && tries() == before {
			return true
		}
		set(t, proxy, tcpproxy.Pass)
		return false
	}, "admit waits for the lock, out of reach")
	w.until(func() bool { return tries() > before }, "admit is given up")
	release()
	w.until(func() bool {
		return scalar[int](w, `SELECT count(*)::int FROM invocations WHERE tool_call_id = 'send'`) == 1
	}, "what was given up is admitted")
	proxy.Cut()
	set(t, proxy, tcpproxy.Pass)
	wantText(t, w.result(call), "hello")
	record := w.record(inv)
	if record.Epoch < 2 || effects.of("send") != 1 || record.Attempts != 1 {
		t.Errorf("epoch %d, %d effects, %d attempts; want at least 2, one and one", record.Epoch, effects.of("send"), record.Attempts)
	}
	w.replay(call.WorkflowID)
}

// longer is by how many seconds more than usual something has taken since it began: what has waited for longer may have left more events.
func longer(began time.Time, usual time.Duration) int {
	return max(0, int((time.Since(began) - usual).Seconds()))
}

// bounded fails where a call has left more events than this: one that waits for something must not do so by beating.
func (w *world) bounded(workflowID string, most int) {
	w.t.Helper()
	if n := len(w.history(workflowID, "").GetEvents()); n > most {
		w.t.Errorf("%s has %d events, want at most %d", workflowID, n, most)
	}
}
