package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
)

// inRun is the id of the run in which the calls of these tests are.
const inRun = "run_1"

// watched returns the n events after a number, and fails if they do not come.
func (b bench) watched(after int64, n int) (events []toolspec.RunEvent) {
	b.t.Helper()
	for e, err := range b.Watch(b.t.Context(), tenant, inRun, after) {
		if err != nil {
			b.t.Fatal(err)
		}
		if events = append(events, e); len(events) == n {
			break
		}
	}
	return events
}

func kinds(events []toolspec.RunEvent) string {
	text := ""
	for _, e := range events {
		text += fmt.Sprintf("%d %s %s, ", e.Seq-events[0].Seq+1, e.Kind, e.ToolCallID)
	}
	return text
}

// TestEventsOfEachPath: on each path a call has one start event and one result event in its run, in this order. The events of its requests are between them.
func TestEventsOfEachPath(t *testing.T) {
	for name, c := range map[string]struct {
		call func(b bench)
		want string
	}{
		"a claim": {func(b bench) {
			row := claimRow("c", 1, 1)
			row.SafeArgs = json.RawMessage(`{"path":"***"}`)
			b.claim(row)
			b.settle(settleIn("c", 1))
		}, "1 tool_call_start c, 2 tool_call_result c, "},
		"two claims": {func(b bench) {
			for n := 1; n <= 2; n++ {
				row := claimRow("c", 1, n)
				row.Repeatable = true
				b.claim(row)
			}
			in := settleIn("c", 1)
			in.Claims = claimsOf(1, 2)
			b.settle(in)
		}, "1 tool_call_start c, 2 tool_call_result c, "},
		"no claim": {func(b bench) { b.settle(settleIn("c", 1)) }, "1 tool_call_start c, 2 tool_call_result c, "},
		"a local attempt of a watched run, twice": {func(b bench) {
			for range 2 {
				if err := b.Begin(own(b.t), attempt.BeginRow{InvocationID: id("c"), TenantID: tenant, Epoch: 1}); err != nil {
					b.t.Fatal(err)
				}
			}
			b.settle(settleIn("c", 1))
			b.settle(settleIn("c", 1))
			if err := b.Begin(own(b.t), attempt.BeginRow{InvocationID: id("c"), TenantID: tenant, Epoch: 1}); err != nil {
				b.t.Fatal(err)
			}
		}, "1 tool_call_start c, 2 tool_call_result c, "},
		"an approval before the claim": {func(b bench) { b.whole("d") },
			"1 approval_requested d, 2 approval_decided d, 3 tool_call_start d, 4 tool_call_result d, "},
		"a request that settle closes": {func(b bench) {
			b.request(requestRow("c", 1))
			b.settle(settleIn("c", 1))
		}, "1 approval_requested c, 2 approval_decided c, 3 tool_call_start c, 4 tool_call_result c, "},
		"swept with a claim and a request": {func(b bench) {
			b.claim(claimRow("c", 1, 1))
			b.request(requestRow("c", 1))
			b.sweep("c", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled)
		}, "1 tool_call_start c, 2 approval_requested c, 3 approval_decided c, 4 tool_call_result c, "},
		"swept before it began": {func(b bench) { b.sweep("c", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled) }, "1 tool_call_start c, 2 tool_call_result c, "},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.admit("c")
			c.call(b)
			last := value[int64](b, `SELECT last_seq FROM runs WHERE run_id = $1`, inRun)
			events := b.watched(0, int(last))
			if got := kinds(events); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if e := events[len(events)-1]; e.Result == nil || e.Result.ToolCallID == "" {
				t.Errorf("the result event has %+v", e.Result)
			}
		})
	}
}

// TestTimeOfTheStart: the start event has the time at which the call began. If the call has no claim, only an attempt, the event has a time after the last
// approval of the call. Decisions about an unknown outcome and decisions about other calls do not count.
func TestTimeOfTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		begun string // an expression in SQL
		want  int    // minutes after the admission
	}{"a claim": {`now() + '20 min'`, 20}, "no claim": {"NULL::timestamptz", 30}} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			decide := func(call string, n int, parked string, verb toolspec.Verb) {
				row := requestRow(call, 1)
				row.View.Parked, row.View.Digest, row.Granted.Digest, row.Last = parked, parked, parked, n-1
				b.request(row)
				b.review(reviewRow(call, 1, n, decision(call, n, verb)))
			}
			for _, call := range []string{"c", "other"} {
				b.admit(call)
				decide(call, 1, "", toolspec.Approve)
			}
			decide("c", 2, "lost", toolspec.SettleOK)
			if n := value[int](b, `SELECT count(*)::int FROM approvals WHERE decided_at IS NOT NULL`); n != 3 {
				t.Fatalf("%d decided requests", n)
			}
			b.sql(`UPDATE approvals SET decided_at = now() - interval '1 h' + interval '10 min' * (2 + number + CASE WHEN invocation_id = '` + id("c") + `' THEN 0 ELSE 2 END)`)
			b.sql(`UPDATE invocations SET created_at = now() - interval '1 h', begun_at = ` + c.begun + ` - interval '1 h' WHERE invocation_id = '` + id("c") + `'`)
			in := settleIn("c", 1)
			in.Attempts[0].AtMs = time.Now().Add(-50 * time.Minute).UnixMilli()
			b.settle(in)
			got := value[int](b, `SELECT round(extract(epoch FROM e.at - i.created_at) / 60)::int FROM events e JOIN invocations i USING (invocation_id) WHERE e.kind = 'tool_call_start' AND e.invocation_id = $1::uuid`, id("c"))
			if got != c.want {
				t.Errorf("the call began %d minutes after its admission, want %d", got, c.want)
			}
		})
	}
}

// TestALateCommitLosesNothing: a transaction that has taken a number for an event blocks the next event of the run until it commits. Otherwise a watcher could
// read the next event first and miss this one.
func TestALateCommitLosesNothing(t *testing.T) {
	b := open(t)
	b.admit("late")
	b.admit("soon")
	tx := b.holds(`SELECT append_run_event(date_trunc('month', now())::date, $1, $2, 'text_delta', NULL, '', '', 'user:ann', '"late"')`, tenant, inRun)
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		b.settle(settleIn("soon", 1))
	}()
	b.waitForLock()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-settled
	if got, want := kinds(b.watched(0, 3)), "1 text_delta , 2 tool_call_start soon, 3 tool_call_result soon, "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAWatcherThatDisconnects: a watcher that disconnects and resumes after the last number sees each event once, while many calls of the run settle. A second
// watcher, whose connections are killed, sees the same order.
func TestAWatcherThatDisconnects(t *testing.T) {
	b := open(t)
	const calls = 60
	for i := range calls {
		b.admit(fmt.Sprintf("c%d", i))
	}
	steady := make(chan []toolspec.RunEvent, 1)
	go func() { steady <- b.watched(0, 2*calls) }()
	until(t, "the run is watched", func() bool { return value[int](b, `SELECT count(*) FROM runs WHERE watched_until > now()`) == 1 })
	settling := make(chan struct{})
	go func() {
		defer close(settling)
		together(4, func(n int) {
			for i := n; i < calls; i += 4 {
				b.settle(settleIn(fmt.Sprintf("c%d", i), 1))
				if i%10 == 0 {
					b.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN pawl_runs%'`)
				}
			}
		})
	}()
	var seen []toolspec.RunEvent
	after := int64(0)
	disconnected := 0
	for ; len(seen) < 2*calls; disconnected++ {
		more := b.watched(after, 2)
		seen, after = append(seen, more...), more[len(more)-1].Seq
	}
	<-settling
	if disconnected < 50 {
		t.Errorf("the watcher has disconnected %d times only", disconnected)
	}
	for i, e := range seen {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has the number %d", i, e.Seq)
		}
	}
	if other := <-steady; kinds(other) != kinds(seen) {
		t.Errorf("the watchers saw\n%s\n%s", kinds(other), kinds(seen))
	}
	summary, err := b.Run(t.Context(), tenant, inRun)
	if err != nil || summary.Calls != calls || summary.Outcomes["ok"] != calls || summary.Attempts != calls || summary.LastSeq != 2*calls ||
		summary.ResultBytes == 0 || summary.FirstStartedAt == nil {
		t.Errorf("%+v, %v", summary, err)
	}
}

// TestAKilledListenerResumes: a watcher also gets an event that was written while its program had no connection that listens.
func TestAKilledListenerResumes(t *testing.T) {
	b := open(t)
	b.admit("c")
	got := make(chan []toolspec.RunEvent, 1)
	go func() { got <- b.watched(0, 2) }()
	listening := func() bool {
		return value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN pawl_runs%' AND state = 'idle'`) == 1
	}
	until(t, "somebody listens", func() bool {
		return listening() && value[int](b, `SELECT count(*) FROM runs WHERE watched_until > now()`) == 1
	})
	b.sql(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN pawl_runs%'`)
	b.settle(settleIn("c", 1))
	if events := <-got; kinds(events) != "1 tool_call_start c, 2 tool_call_result c, " {
		t.Error(kinds(events))
	}
}

// TestTwoFirstWatchers: when two watchers are the first of a run at the same moment, the one that waits for the row of the other is notified too.
func TestTwoFirstWatchers(t *testing.T) {
	b := open(t)
	b.admit("c")
	tx := b.holds(`INSERT INTO runs (tenant_id, run_id, watched_until) VALUES ($1, $2, now() + interval '5 minutes')`, tenant, inRun)
	got := make(chan []toolspec.RunEvent, 1)
	go func() { got <- b.watched(0, 2) }()
	b.waitForLock()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the watcher is idle", func() bool {
		return value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE '%run_events e LEFT JOIN%'`) == 1
	})
	b.settle(settleIn("c", 1))
	select {
	case <-got:
	case <-time.After(30 * time.Second): // without a notification the watcher reads again after 75 seconds
		t.Fatal("the watcher was not notified")
	}
}

// TestWatchReadOnly: a database that only answers reads, such as a standby, is read once a second.
func TestWatchReadOnly(t *testing.T) {
	b := open(t)
	b.admit("c")
	reader, err := postgres.Open(t.Context(), b.url+"&default_transaction_read_only=on", postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	b.settle(settleIn("c", 1))
	for e, err := range reader.Watch(t.Context(), tenant, inRun, 1) {
		if err != nil || e.Kind != toolspec.RunCallResult {
			t.Errorf("%+v, %v", e, err)
		}
		break
	}
}

// TestNobodyIsNotified: an event of a run without watchers sends no notification, and an event of a watched run sends one.
func TestNobodyIsNotified(t *testing.T) {
	b := open(t)
	conn, err := b.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), `LISTEN pawl_runs`); err != nil {
		t.Fatal(err)
	}
	b.admit("c")
	b.settle(settleIn("c", 1))
	b.watched(0, 2)
	b.admit("d")
	b.settle(settleIn("d", 1))
	n, err := conn.Conn().WaitForNotification(t.Context())
	if err != nil || n.Payload != value[string](b, `SELECT key::text FROM runs`) {
		t.Errorf("%+v, %v", n, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := conn.Conn().WaitForNotification(ended); err == nil {
		t.Errorf("a second notification: %+v", n)
	}
}

// TestProgressAndTheEndOfATurn: a progress report is written only for a watched call, between its start and its result. The end of a turn is written after the
// results.
func TestProgressAndTheEndOfATurn(t *testing.T) {
	b := open(t)
	b.admit("c")
	b.claim(claimRow("c", 1, 1))
	report := func() bool {
		watched, err := b.ReportProgress(t.Context(), attempt.ProgressRow{TenantID: tenant, RunID: inRun, InvocationID: id("c"), Epoch: 1, Progress: toolspec.Progress{Done: 1, Text: "half"}})
		if err != nil {
			t.Fatal(err)
		}
		return watched
	}
	if report() {
		t.Error("nobody watches")
	}
	b.watched(0, 1)
	if !report() {
		t.Error("somebody watches")
	}
	if err := b.Append(t.Context(), tenant, inRun, client.TurnEvent{Key: "turn", Done: true}); !errors.Is(err, client.ErrRunOpen) {
		t.Errorf("a turn ended before its call: %v", err)
	}
	b.settle(settleIn("c", 1))
	report()
	for _, e := range []client.TurnEvent{{Key: "turn", Text: "Hi", OwnerID: "user:ann"}, {Key: "turn", Done: true}} {
		if err := b.Append(t.Context(), tenant, inRun, e); err != nil {
			t.Fatal(err)
		}
	}
	events := b.watched(0, 5)
	if got, want := kinds(events), "1 tool_call_start c, 2 tool_call_progress c, 3 tool_call_result c, 4 text_delta , 5 done , "; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if events[1].Progress == nil || events[1].Progress.Text != "half" || events[3].Text != "Hi" || events[3].OwnerID != "user:ann" {
		t.Errorf("%+v", events)
	}
	if _, err := b.Run(t.Context(), "other", inRun); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a run of another tenant: %v", err)
	}
	if !slices.IsSortedFunc(events, func(a, b toolspec.RunEvent) int { return int(a.AtMs - b.AtMs) }) {
		t.Error("times decrease")
	}
}
