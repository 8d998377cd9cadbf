//go:build unix

package faultkit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// The size of TestSemaphoreUnderKills.
const (
	semaphoreCalls = 150
	semaphoreMost  = 5
	semaphoreKills = 5
	semaphoreEnds  = 10 // number of calls that are terminated
	// insideMs is the milliseconds that a tool works after its effect.
	insideMs = 60
	// crowdTimeout bounds the time until all calls have ended.
	crowdTimeout = 8 * time.Minute
)

const semaphoreRules = `
version: 1
tenants:
  acme:
    allowedTools: ["chaos__*"]
    mode: auto
    limits: [{tool: "chaos__*", concurrent: 5, then: wait}]
`

// TestSemaphoreUnderKills: 150 calls on two workers share five slots, while workers are killed and some workflows are terminated. The
// ledger never shows more than five tools at the same time, no waiting call is overtaken by more than five later calls, all calls end, and
// no slot is left. The test is not parallel, because its calls keep the server busy.
func TestSemaphoreUnderKills(t *testing.T) {
	w := newWorld(t)
	w.apply(semaphoreRules)
	log := w.logLeases()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)

	var calls []*pawl.Call
	for i := range semaphoreCalls {
		tool := []string{ledger.LocalRead, ledger.Read, ledger.Put}[i%3]
		calls = append(calls, w.start(invocation(fmt.Sprintf("call-%03d", i), tool, ledger.In{Text: "x", AfterMs: insideMs})))
	}
	workers := []*child{w.work(healthy, "PAWL_SWEEP_EVERY=5s"), w.work(healthy, "PAWL_SWEEP_EVERY=5s")}
	killed := map[int]time.Time{}
	terminated := map[string]bool{}
	var mu sync.Mutex
	ended := map[string]toolspec.Result{}
	var ending sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), crowdTimeout)
	defer cancel()
	for _, i := range random.Perm(semaphoreCalls)[:semaphoreEnds] {
		terminated[calls[i].WorkflowID] = true
	}
	for _, call := range calls {
		if terminated[call.WorkflowID] {
			continue
		}
		ending.Go(func() {
			r, err := w.ended(call, crowdTimeout)
			if err != nil {
				t.Errorf("%s: %v", call.WorkflowID, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ended[call.InvocationID] = r
		})
	}
	over := make(chan struct{})
	go func() { ending.Wait(); close(over) }()
	// Kill and terminate each time more calls have had their effect.
	step := semaphoreCalls * 2 / 3 / semaphoreKills
	victims := slices.DeleteFunc(slices.Clone(calls), func(c *pawl.Call) bool { return !terminated[c.WorkflowID] })
	for n := range semaphoreKills {
		w.until(func() bool { return len(w.ledger.Effects()) >= (n+1)*step || ctx.Err() != nil }, "the crowd moves on")
		for _, c := range victims[n*semaphoreEnds/semaphoreKills : (n+1)*semaphoreEnds/semaphoreKills] {
			_ = w.temporal.TerminateWorkflow(ctx, c.WorkflowID, "", "test") // the workflow may have ended
		}
		i := random.IntN(len(workers))
		workers[i].kill()
		killed[workers[i].pid()] = time.Now()
		workers[i] = w.work(healthy, "PAWL_SWEEP_EVERY=5s")
	}
	<-over
	for id, r := range ended {
		if !r.OK {
			t.Errorf("%s ended with %+v", id, r)
		}
	}
	w.until(func() bool { return log.left() == 0 }, "no place is left over")
	w.neverMoreThan(semaphoreMost, killed)
	log.inOrder(semaphoreMost, func(invocationID string) bool { _, ok := ended[invocationID]; return !ok })
	for _, call := range calls {
		if _, ok := ended[call.InvocationID]; !ok && !terminated[call.WorkflowID] {
			t.Errorf("%s has not ended", call.WorkflowID)
		}
	}
}

// apply applies a policy.
func (w *world) apply(text string) {
	w.t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.ApplyPolicy(w.t.Context(), p, "faultkit"); err != nil {
		w.t.Fatal(err)
	}
}

// neverMoreThan checks the ledger: a tool runs from its effect until insideMs later, or until its
// worker is killed.
func (w *world) neverMoreThan(limit int, killed map[int]time.Time) {
	w.t.Helper()
	type edge struct {
		at    time.Time
		delta int
	}
	var edges []edge
	for _, e := range w.ledger.Effects() {
		until := e.At.Add(insideMs * time.Millisecond)
		if at, dead := killed[e.PID]; dead && at.Before(until) {
			until = at
		}
		edges = append(edges, edge{e.At, 1}, edge{until, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.delta - b.delta
	})
	inside, highest := 0, 0
	for _, e := range edges {
		inside += e.delta
		highest = max(highest, inside)
	}
	w.t.Logf("%d effects, at most %d inside at once", len(edges)/2, highest)
	if highest > limit || highest < 2 {
		w.t.Errorf("%d tools ran at once, want at most %d", highest, limit)
	}
}

// leaseLog reads a log of all changes of leases, which a trigger writes.
type leaseLog struct {
	w    *world
	conn *pgx.Conn
}

func (w *world) logLeases() *leaseLog {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(w.t.Context())) })
	if _, err := conn.Exec(w.t.Context(), `
		CREATE TABLE lease_log (seq bigint GENERATED ALWAYS AS IDENTITY, invocation_id uuid, key text, state text, ticket bigint, tx bigint DEFAULT txid_current());
		CREATE FUNCTION log_lease() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF TG_OP = 'DELETE' THEN
				INSERT INTO lease_log (invocation_id, key, state, ticket) VALUES (OLD.invocation_id, OLD.key, 'gone', OLD.ticket);
			ELSIF TG_OP = 'INSERT' OR OLD.state <> NEW.state THEN
				INSERT INTO lease_log (invocation_id, key, state, ticket) VALUES (NEW.invocation_id, NEW.key, NEW.state, NEW.ticket);
			END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER log_leases AFTER INSERT OR UPDATE OR DELETE ON leases FOR EACH ROW EXECUTE FUNCTION log_lease();`); err != nil {
		w.t.Fatal(err)
	}
	return &leaseLog{w: w, conn: conn}
}

func (l *leaseLog) left() (n int) {
	l.w.t.Helper()
	if err := l.conn.QueryRow(l.w.t.Context(), `SELECT count(*) FROM leases`).Scan(&n); err != nil {
		l.w.t.Fatal(err)
	}
	return n
}

// inOrder checks that at most limit calls hold a slot at the same time, that at most limit later calls overtake a waiting call, and that only
// terminated calls lose a slot.
func (l *leaseLog) inOrder(limit int, swept func(invocationID string) bool) {
	l.w.t.Helper()
	// Within a transaction, rows that leave come first: the limit is locked, so no other
	// transaction sees an intermediate state.
	rows, err := l.conn.Query(l.w.t.Context(), `SELECT invocation_id::text, state, ticket FROM lease_log
		ORDER BY min(seq) OVER (PARTITION BY tx), state IN ('held', 'waiting'), seq`)
	if err != nil {
		l.w.t.Fatal(err)
	}
	type event struct {
		InvocationID string
		State        string
		Ticket       int64
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[event])
	if err != nil {
		l.w.t.Fatal(err)
	}
	waiting, overtaken := map[string]int64{}, map[string]int{}
	held := map[string]bool{}
	highest, worst, lost := 0, 0, 0
	for _, e := range events {
		delete(waiting, e.InvocationID)
		delete(held, e.InvocationID)
		switch e.State {
		case "waiting":
			waiting[e.InvocationID] = e.Ticket
		case "held":
			held[e.InvocationID] = true
			highest = max(highest, len(held))
			for id, ticket := range waiting {
				if ticket < e.Ticket {
					overtaken[id]++
					worst = max(worst, overtaken[id])
				}
			}
		case "lost":
			if !swept(e.InvocationID) {
				lost++
			}
		}
	}
	l.w.t.Logf("at most %d held a place at once, nobody was overtaken by more than %d, %d places were lost", highest, worst, lost)
	if highest > limit || worst > limit || lost > 0 {
		l.w.t.Errorf("%d calls held a slot at once, one was overtaken by %d, %d lost their slots", highest, worst, lost)
	}
}
