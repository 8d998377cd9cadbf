package outages

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/worker"
)

// TestBackendsTerminated: an operator repeatedly ends all connections of Pawl to the database while calls are admitted.
func TestBackendsTerminated(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	s := newStream(w)
	w.Work(s.tools())
	ended := 0
	for range 6 {
		w.Until(func() bool {
			s.invoke(w.Pawl)
			n := e2etest.Scalar[int](w, `SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'pawl' AND query LIKE '%INSERT INTO invocations%'`)
			ended += n
			return n > 0
		}, "a connection that admits is ended")
	}
	// A claim may have been committed although its connection was ended.
	s.verdict(t, ended)
	t.Logf("%d connections were ended", ended)
}

// TestPoolExhausted: with the smallest pool and 64 calls at the same time, every call waits for a connection, and there is no deadlock.
func TestPoolExhausted(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Connections = 4
	proxy := w.Proxied()
	proxy.Delay(2 * time.Millisecond) // a statement takes a while
	s := newStream(w)
	began := time.Now()
	for range 64 {
		s.invoke(w.Pawl)
	}
	w.Work(s.tools())
	s.verdict(t, 0)
	most := 60 + e2etest.SecondsOver(began, 30*time.Second)
	for id, toolID := range s.kinds {
		w.BoundedHistory(e2etest.Invocation(id, toolID, "").Identity().WorkflowID(), most)
	}
	// The relay listens on one more connection. If a statement runs into its time limit on a busy machine, its connection is still being closed while a new one is
	// opened, and that can happen to all connections at the same time.
	if n := proxy.Peak(); n > 2*(4+1) {
		t.Errorf("%d connections at once, want the 4 of the pool and one that listens", n)
	}
	t.Logf("64 calls took %s", time.Since(began).Round(time.Millisecond))
}

// TestReadOnlyDatabase: with a database that refuses writes, calls stop before they have an effect, and the log says why. When the database accepts writes
// again, the calls go on.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	p := devstacktest.OwnPostgres(t)
	w := e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy)
	s := newStream(w)
	w.Work(s.tools(), worker.Tools(e2etest.Tool("test__asked", s.effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("before", "test__send", `{"text":"hello"}`)), "hello")
	asked := w.Start(e2etest.Invocation("asked", "test__asked", `{"text":"hello"}`))
	view := w.Waiting(asked.WorkflowID)
	readOnly := func(setting string) {
		ctx := t.Context()
		conn, err := pgx.Connect(ctx, p.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		for _, sql := range []string{`ALTER SYSTEM SET default_transaction_read_only = ` + setting, `SELECT pg_reload_conf()`} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		w.Until(func() bool { return e2etest.Scalar[string](w, `SHOW default_transaction_read_only`) == setting }, "the setting holds")
	}
	// A session that is running a statement learns of the setting after it. A waiting session learns of it before its next statement.
	readOnly("on")
	for range 8 {
		s.invoke(w.Pawl)
	}
	if err := w.Temporal.SignalWorkflow(t.Context(), asked.WorkflowID, "", "decide",
		e2etest.Approving(view.ApprovalID, e2etest.Ann)); err != nil {
		t.Fatal(err)
	}
	for step, op := range map[string]string{"admit": "admit", "reviewDecision": "review"} {
		w.Until(func() bool {
			return w.Log.Has(`msg="activity will be tried again" activity=` + step + ` reason="postgres: ` + op + `: 25006`)
		}, step+" says that the database is read-only")
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM invocations WHERE tool_call_id NOT IN ('before', 'asked')`); n != 0 {
		t.Errorf("%d calls were admitted", n)
	}
	for _, id := range []string{"fast-0", "read-1", "write-2", "send-3", "asked"} {
		if n := s.effects.Of(id); n != 0 {
			t.Errorf("%s had %d effects without an admission and a claim", id, n)
		}
	}
	readOnly("off")
	s.verdict(t, 0)
	e2etest.WantText(t, w.Result(asked), "hello")
	if n := s.effects.Of("asked"); n != 1 {
		t.Errorf("what was approved had %d effects", n)
	}
}

// TestDatabaseChaos: while a stream of calls runs, the database crashes every few seconds and is away for up to two seconds. The log has the seed.
func TestDatabaseChaos(t *testing.T) {
	t.Parallel()
	const length, most, enough = 30 * time.Second, 2 * time.Minute, 3
	began := time.Now()
	p := devstacktest.OwnPostgres(t)
	w := e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy)
	s := newStream(w)
	w.Work(s.tools())
	seed := uint64(time.Now().UnixNano())    //nolint:gosec // any number is good
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
	t.Logf("seed %d", seed)
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(random.Int64N(int64(to-from))) }

	over := time.NewTimer(length)
	defer over.Stop()
	calls := time.NewTicker(200 * time.Millisecond)
	defer calls.Stop()
	crash := time.NewTimer(between(time.Second, 4*time.Second))
	defer crash.Stop()
	restarted := make(chan error, 1)
	crashes, running := 0, true
	for running || len(calls.C) > 0 {
		select {
		case <-calls.C:
			s.invoke(w.Pawl)
		case <-crash.C:
			crashes++
			away := between(0, 2*time.Second)
			go func() {
				err := p.StopImmediate(t.Context())
				if err == nil {
					timer := time.NewTimer(away)
					defer timer.Stop()
					<-timer.C
					err = p.Restart(t.Context())
				}
				restarted <- err
			}()
		case err := <-restarted:
			if err != nil {
				t.Fatal(err)
			}
			crash.Reset(between(2*time.Second, 5*time.Second))
		case <-over.C:
			// On a busy machine a restart takes longer.
			if crashes < enough && time.Since(began) < most {
				over.Reset(time.Second)
				continue
			}
			running = false
			calls.Stop()
		}
	}
	if crash.Stop() {
		restarted <- nil
	}
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	// A call can have an unknown outcome only if a crash came during its claim. At each crash there is at most one such call for each connection.
	s.verdict(t, crashes*w.Config().Connections)
	ok := 0
	for _, r := range s.results {
		if r.OK {
			ok++
		}
	}
	if crashes < enough || ok*10 < s.started*6 {
		t.Errorf("%d crashes, and %d of %d calls ended ok: this shows nothing", crashes, ok, s.started)
	}
	t.Logf("%d crashes", crashes)
}
