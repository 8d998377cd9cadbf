package worker

import (
	"context"
	"math"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
)

const (
	awayTemporal = `"the worker cannot start yet and tries again" waitsFor=Temporal address=`
)

func proxyTo(t *testing.T, target string) *tcpproxy.Proxy {
	t.Helper()
	p, err := tcpproxy.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestTheDatabaseGoesAwayDuringAStart takes the database away at each step of a start, each time after the step
// has succeeded.
func TestTheDatabaseGoesAwayDuringAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, err := url.Parse(w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := proxyTo(t, u.Host)
	u.Host = p.Address()
	w.config.DatabaseURL, w.config.PolicyFile = u.String(), w.file("policy.yaml", rules)
	steps := []string{
		"FROM goose_db_version WHERE is_applied", "ensure_partitions", "INSERT INTO policy_activations",
		"activated_by FROM policy_active", "SELECT source FROM policies", "INSERT INTO tool_specs",
	}
	loss := p.LoseAnswers(1, steps...)
	r := w.start(Tools(tool("test__own")))
	r.waitForLog(runs)
	if loss.Lost() != len(steps) {
		t.Errorf("%d answers were lost, want %d", loss.Lost(), len(steps))
	}
	if !w.log.Has("the worker cannot start yet", `waitsFor="the database"`, "the database does not answer") {
		t.Errorf("the worker does not say that the database is away; its log:\n%s", w.log)
	}
	if _, err := w.invoke("test__own", "own", `{}`); err != nil {
		t.Error(err)
	}
}

// longer cuts each connection after some requests: one request more than on the connection before.
type longer struct{ left atomic.Int32 }

func (l *longer) Request([]byte) tcpproxy.Verdict {
	if l.left.Add(-1) < 0 {
		return tcpproxy.Cut
	}
	return tcpproxy.Forward
}

func (l *longer) Answer([]byte) tcpproxy.Verdict { return tcpproxy.Forward }

// TestTemporalGoesAwayDuringAStart starts a worker without Temporal. Then it takes Temporal away a little later
// in each start: before and after the search attributes.
func TestTemporalGoesAwayDuringAStart(t *testing.T) {
	t.Parallel()
	const most = 8
	w := newWorld(t)
	p := proxyTo(t, w.config.Temporal.HostPort)
	var connections atomic.Int32
	p.Watch(func() tcpproxy.Watch {
		l := &longer{}
		l.left.Store(connections.Add(1))
		if l.left.Load() > most {
			l.left.Store(math.MaxInt32)
		}
		return l
	})
	if err := p.Set(tcpproxy.Refuse); err != nil {
		t.Fatal(err)
	}
	w.config.PolicyFile, w.config.Temporal.HostPort = w.file("policy.yaml", rules), p.Address()
	r := w.start(Tools(tool("test__own")))
	r.waitForLog(awayTemporal + p.Address() + ` reason="no server listens at TEMPORAL_ADDRESS`)
	if err := p.Set(tcpproxy.Pass); err != nil {
		t.Fatal(err)
	}
	r.waitForLog(runs)
	if n := connections.Load(); n < 2 {
		t.Errorf("%d connection was made, so none was lost", n)
	}
	if _, err := w.invoke("test__own", "own", `{}`); err != nil {
		t.Error(err)
	}
	if attributes := w.searchAttributesOf("own"); len(attributes) == 0 {
		t.Error("the call upserted no search attribute")
	}
}

// TestTemporalGoesAwayBeforeTheWorkerPolls takes Temporal away after all other parts are ready.
func TestTemporalGoesAwayBeforeTheWorkerPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := proxyTo(t, w.config.Temporal.HostPort)
	w.config.PolicyFile, w.config.Temporal.HostPort = w.file("policy.yaml", rules), p.Address()
	// The worker publishes its tools in the last step before it polls, and waits for this lock.
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, `BEGIN; LOCK TABLE tool_specs`); err != nil {
		t.Fatal(err)
	}
	r := w.start(Tools(tool("test__own")))
	w.until("the worker publishes its tools", func() error { return waitsForLock(ctx, w) })
	if err := p.Set(tcpproxy.Refuse); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
		t.Fatal(err)
	}
	r.waitForLog(awayTemporal + p.Address())
	if err := p.Set(tcpproxy.Pass); err != nil {
		t.Fatal(err)
	}
	r.waitForLog(runs)
	if _, err := w.invoke("test__own", "own", `{}`); err != nil {
		t.Error(err)
	}
}

func waitsForLock(ctx context.Context, w *world) error {
	conn, err := pgx.Connect(ctx, w.config.DatabaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var one int
	return conn.QueryRow(ctx, `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1`).Scan(&one)
}
