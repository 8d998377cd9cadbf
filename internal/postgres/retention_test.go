package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

const retentionDays = 400

// aged moves a call and its rows this number of months into the past.
func (b bench) aged(call string, months int) {
	b.t.Helper()
	b.sql(`UPDATE invocations SET
			month = (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $2))::date,
			created_at = created_at - make_interval(months => $2), settled_at = settled_at - make_interval(months => $2)
		WHERE tool_call_id = $1`, call, months)
	b.sql(`UPDATE outputs SET expires_at = expires_at - make_interval(months => $2) WHERE invocation_id = $1::uuid`, id(call), months)
	for _, parent := range partitioned {
		b.sql(`UPDATE `+parent+` SET month = (SELECT month FROM invocations WHERE tool_call_id = $1) WHERE invocation_id = $2::uuid`, call, id(call))
	}
}

var partitioned = []string{"stage_events", "attempts", "payloads", "events", "hydrations", "run_events"}

// monthsOf creates the partitions of past months, as a worker of that time did.
func (b bench) monthsOf(ago ...int) {
	b.t.Helper()
	for _, n := range ago {
		for _, parent := range partitioned {
			sql := value[string](b, `SELECT format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
					$1 || to_char(first, '_YYYY_MM'), $1::text, first, (first + interval '1 month')::date)
				FROM (SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $2))::date AS first) m`, parent, n)
			b.sql(`SET ROLE pawl_migrator; ` + sql + `; RESET ROLE`)
		}
	}
}

// whole makes a settled call that has a row in every table.
func (b bench) whole(call string) {
	b.t.Helper()
	b.admit(call)
	b.request(requestRow(call, 1))
	b.review(reviewRow(call, 1, 1, decision(call, 1, toolspec.Approve)))
	row := claimRow(call, 1, 1)
	row.ApprovalID, row.ApprovalDigest = toolspec.ApprovalID(id(call), 1), "approval-digest"
	b.claim(row)
	if _, err := b.SaveOutput(b.t.Context(), attempt.OutputRow{InvocationID: id(call), TenantID: tenant, Dispatch: 1, Value: []byte(`"large"`)}); err != nil {
		b.t.Fatal(err)
	}
	// Earlier releases stored large values in the table payloads.
	b.sql(`INSERT INTO payloads (month, ref, invocation_id, tenant_id, dispatch, value)
		SELECT month, 'old-' || invocation_id, invocation_id, tenant_id, 1, '"large"' FROM invocations WHERE tool_call_id = '` + call + `'`)
	b.settle(settleIn(call, 1))
}

// rows returns the number of rows of a call in each table.
func (b bench) rows(call string) string {
	b.t.Helper()
	text := ""
	for _, table := range append([]string{"invocations", "claims", "approvals"}, partitioned...) {
		text += fmt.Sprintf("%s %d, ", table, value[int](b, `SELECT count(*) FROM `+table+` WHERE invocation_id = $1::uuid`, id(call)))
	}
	return text + fmt.Sprintf("decisions %d", value[int](b, `SELECT count(*) FROM decisions WHERE approval_id LIKE $1 || '.%'`, id(call)))
}

const (
	all  = "invocations 1, claims 1, approvals 1, stage_events 2, attempts 1, payloads 1, events 6, hydrations 1, run_events 4, decisions 1"
	none = "invocations 0, claims 0, approvals 0, stage_events 0, attempts 0, payloads 0, events 0, hydrations 0, run_events 0, decisions 0"
)

func (b bench) expire() contract.DropExpiredOut {
	b.t.Helper()
	out, err := upkeep.NewSweeper("", b.Store, nil, nil, nil, slog.New(slog.DiscardHandler), retentionDays).Expired(b.t.Context(), contract.DropExpiredIn{})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b bench) partitionsOf(parent string) string {
	b.t.Helper()
	return value[string](b, `SELECT coalesce(string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text COLLATE "C"), '') FROM pg_inherits WHERE inhparent = $1::regclass`, parent)
}

// TestRetention: retention deletes the calls that are older than its limit with all their rows, and nothing else.
func TestRetention(t *testing.T) {
	for _, partitions := range []bool{true, false} {
		t.Run(fmt.Sprint("partitions=", partitions), func(t *testing.T) {
			b := open(t)
			if partitions {
				b.monthsOf(0, 13, 15, 16, 17)
			}
			for call, months := range map[string]int{"now": 0, "young": 13, "old": 15, "older": 17} {
				b.whole(call)
				b.aged(call, months)
			}
			// Two calls of sixteen months ago: one has ended, and one still waits.
			b.whole("beside")
			b.aged("beside", 16)
			b.admit("waiting")
			b.aged("waiting", 16)
			// Two events without a call: one of a month that is deleted, and one of a month of which a call is kept.
			b.sql(`INSERT INTO events (month, kind) SELECT month, 'refused' FROM invocations WHERE tool_call_id IN ('old', 'young')`)
			before := b.partitionsOf("events")
			out := b.expire()
			for call, want := range map[string]string{"now": all, "young": all, "old": none, "older": none} {
				if got := b.rows(call); got != want {
					t.Errorf("%s has %s, want %s", call, got, want)
				}
			}
			if got := b.rows("beside"); got != "invocations 0, claims 0, approvals 0, stage_events 2, attempts 1, payloads 1, events 6, hydrations 1, run_events 4, decisions 0" {
				t.Errorf("beside a call that waits: %s", got)
			}
			if n := value[int](b, `SELECT count(*) FROM invocations WHERE tool_call_id = 'waiting'`); n != 1 {
				t.Error("the call that waits is gone")
			}
			if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'refused'`); n != 1 {
				t.Errorf("%d events of no call", n)
			}
			if out.Calls != 3 || out.Unfinished || out.Busy != 0 || out.RetentionDays != retentionDays {
				t.Errorf("counted %+v", out)
			}
			wantRows, wantPartitions := 31, 0
			if partitions {
				wantRows, wantPartitions = 0, 12
			}
			if out.Rows != wantRows || out.Partitions != wantPartitions {
				t.Errorf("counted %+v; before: %s; after: %s", out, before, b.partitionsOf("events"))
			}
			if again := b.expire(); again != (contract.DropExpiredOut{RetentionDays: retentionDays}) {
				t.Errorf("a second time it counted %+v", again)
			}
			// The waiting call can still end. Its rows belong to its old month, and are deleted with that month.
			b.settle(settleIn("waiting", 1))
			if n := value[int](b, `SELECT count(*) FROM stage_events WHERE invocation_id = $1::uuid`, id("waiting")); n != 2 {
				t.Errorf("it has %d stages", n)
			}
			b.expire()
			if got := b.rows("beside"); got == none {
				t.Error("the month went though a call of it has only just settled")
			}
			b.sql(`UPDATE invocations SET settled_at = settled_at - interval '401 days' WHERE tool_call_id = 'waiting'`)
			b.expire()
			if got := b.rows("beside") + b.rows("waiting"); got != none+none {
				t.Errorf("what is left: %s", got)
			}
		})
	}
}

// TestRetentionIsExact: a settled call is deleted when its days are over, and not before.
func TestRetentionIsExact(t *testing.T) {
	b := open(t)
	for _, call := range []string{"before", "after", "open"} {
		b.admit(call)
		if call != "open" {
			b.settle(settleIn(call, 1))
		}
	}
	b.sql(`UPDATE invocations SET created_at = now() - interval '500 days', month = date_trunc('month', (now() - interval '500 days') AT TIME ZONE 'UTC')::date`)
	b.sql(`UPDATE invocations SET settled_at = now() - interval '400 days' + interval '1 hour' WHERE tool_call_id = 'before'`)
	b.sql(`UPDATE invocations SET settled_at = now() - interval '400 days' - interval '1 second' WHERE tool_call_id = 'after'`)
	b.expire()
	if left := value[string](b, `SELECT string_agg(tool_call_id, ' ' ORDER BY tool_call_id) FROM invocations`); left != "before open" {
		t.Errorf("left are %s", left)
	}
}

// TestRetentionGoesByBatches: a statement deletes no more rows than its limit, and skips locked rows.
func TestRetentionGoesByBatches(t *testing.T) {
	b := open(t)
	for i := range 7 {
		call := fmt.Sprint("call_", i)
		b.whole(call)
		b.aged(call, 15+i%2)
	}
	if n, err := b.DeleteExpiredCalls(t.Context(), retentionDays, 4); err != nil || n != 0 {
		t.Errorf("deleted %d calls whose outputs count against a quota: %v", n, err)
	}
	b.reclaim()
	tx := b.holds(`SELECT 1 FROM invocations WHERE tool_call_id = 'call_3' FOR NO KEY UPDATE`)
	for _, want := range []int{4, 2, 0} {
		if n, err := b.DeleteExpiredCalls(t.Context(), retentionDays, 4); err != nil || n != want {
			t.Errorf("deleted %d calls, want %d: %v", n, want, err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := b.DeleteExpiredCalls(t.Context(), retentionDays, 4); err != nil || n != 1 {
		t.Errorf("deleted %d calls, want the last: %v", n, err)
	}
	// 14 stages, 7 attempts, 7 outputs, 7 hydrations, 42 events and 28 events of runs.
	for _, want := range []int{30, 21, 14, 10, 10, 8, 5, 5, 2, 0} {
		if n, err := b.DeleteExpiredRows(t.Context(), retentionDays, 5); err != nil || n != want {
			t.Errorf("deleted %d rows, want %d: %v", n, want, err)
		}
	}
}

// TestAPartitionInUseIsLeft: the sweeper leaves a partition that is being read and tries again later. It does not wait for the reader, because writers would
// have to wait behind the sweeper.
func TestAPartitionInUseIsLeft(t *testing.T) {
	b := open(t)
	b.monthsOf(15)
	b.admit("call_1")
	tx := b.holds(`SELECT count(*) FROM stage_events`)
	done := make(chan contract.DropExpiredOut, 2)
	go func() {
		defer close(done) // so that the test does not wait for ever if expire fails
		for range 2 {
			done <- b.expire()
		}
	}()
	counted := func(dropped int) {
		t.Helper()
		select {
		case out := <-done:
			if out.Busy != 1 || out.Partitions != dropped || !out.Unfinished {
				t.Errorf("counted %+v", out)
			}
		case <-time.After(time.Minute):
			_ = tx.Rollback(t.Context())
			<-done
			<-done
			t.Fatal("it waited for the reader")
		}
	}
	counted(len(partitioned) - 1)
	// Calls can settle while the sweeper tries again. The other partitions are dropped by now, because a slow settle would keep them in use.
	began := time.Now()
	settling, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Settle(settling, settleIn("call_1", 1)); err != nil {
		t.Errorf("a call that settles meanwhile: %v", err)
	}
	t.Logf("the settle took %s", time.Since(began))
	counted(0)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := b.expire(); out.Busy != 0 || out.Partitions != 1 || out.Unfinished {
		t.Errorf("then %+v", out)
	}
}

// TestOneDropsAtATime: while one worker drops partitions, another one leaves them, because Postgres fails with an internal error if two sessions drop the same
// partition.
func TestOneDropsAtATime(t *testing.T) {
	b := open(t)
	b.monthsOf(15)
	tx := b.holds(`SELECT pg_advisory_xact_lock(hashtext('pawl partitions'))`)
	if out := b.expire(); out.Busy != len(partitioned) || out.Partitions != 0 || !out.Unfinished {
		t.Errorf("beside another: %+v", out)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := b.expire(); out.Busy != 0 || out.Partitions != len(partitioned) || out.Unfinished {
		t.Errorf("then %+v", out)
	}
}

// TestRetentionsAtOnce: several workers of one database can delete at the same time.
func TestRetentionsAtOnce(t *testing.T) {
	b := open(t)
	b.monthsOf(15, 16)
	for i := range 40 {
		call := fmt.Sprint("call_", i)
		b.admit(call)
		b.settle(settleIn(call, 1))
		b.aged(call, 15+i%2)
	}
	outs := make([]contract.DropExpiredOut, 4)
	together(len(outs), func(i int) { outs[i] = b.expire() })
	b.expire()
	if n := value[int](b, `SELECT count(*) FROM invocations`) + value[int](b, `SELECT count(*) FROM stage_events`); n != 0 {
		t.Errorf("%d rows are left of %+v", n, outs)
	}
	if left := b.partitionsOf("stage_events"); left != "stage_events_default" {
		t.Errorf("left are %s", left)
	}
}

// TestKeepPartitions: a worker does not try again to create the partition of a month that has rows in the default partition, because each try would block
// every insert.
func TestKeepPartitions(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.settle(settleIn("call_1", 1))
	sweeper := upkeep.NewSweeper("", b.Store, nil, nil, nil, slog.New(slog.DiscardHandler), retentionDays)
	if _, err := sweeper.Partitions(t.Context(), contract.KeepPartitionsIn{}); err != nil {
		t.Fatal(err)
	}
	if n := value[int](b, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'payloads'::regclass`); n != 5 {
		t.Errorf("%d partitions, want DEFAULT, this month and three to come", n)
	}
	// A long transaction reads a table. No partition that could be created is missing, so the worker takes no lock and does not wait.
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for _, parent := range partitioned {
		if _, err := tx.Exec(t.Context(), `SELECT count(*) FROM `+parent); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sweeper.Partitions(t.Context(), contract.KeepPartitionsIn{}); err != nil {
		t.Errorf("it waited for a reader: %v", err)
	}
}

// TestRetentionKeepsEndings: a call whose endings have not run is kept for one day longer than the sweeper tries these endings.
func TestRetentionKeepsEndings(t *testing.T) {
	b := open(t)
	for call, days := range map[string]int{"ended": 3, "waits": 3, "forgotten": 9} {
		b.admit(call)
		b.settle(settleIn(call, 1))
		b.sql(`UPDATE invocations SET settled_at = now() - make_interval(days => $2),
			month = date_trunc('month', (now() - make_interval(days => $2)) AT TIME ZONE 'UTC')::date WHERE tool_call_id = $1`, call, days)
		if call != "ended" {
			b.sql(`INSERT INTO endings (invocation_id, namespace) VALUES ($1::uuid, 'default')`, id(call))
		}
	}
	sweeper := upkeep.NewSweeper("", b.Store, nil, nil, nil, slog.New(slog.DiscardHandler), 1)
	if _, err := sweeper.Expired(t.Context(), contract.DropExpiredIn{}); err != nil {
		t.Fatal(err)
	}
	if left := value[string](b, `SELECT string_agg(tool_call_id, ' ') FROM invocations`); left != "waits" {
		t.Errorf("left: %q", left)
	}
}
