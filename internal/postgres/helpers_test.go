package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/workflows/contract"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func development(t testing.TB) *policy.Policy {
	t.Helper()
	return policy.Development()
}

// otherPolicy returns a version of the policy with one tenant of this name, so that each name gives another version.
func otherPolicy(t testing.TB, name string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("test", []byte("version: 1\ntenants: {"+name+": {allowedTools: [core__*], mode: ask}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ownRun is the id of the Temporal run that admits the calls of the tests.
const ownRun = "temporal-run-1"

// own returns the context of an activity of the Temporal run ownRun.
func own(t testing.TB) context.Context { return executes(t.Context(), ownRun) }

func executes(ctx context.Context, runID string) context.Context {
	return contract.WithExecution(ctx, contract.Execution{RunID: runID, Local: true})
}

// until polls for a condition. Its limit is longer than the time for which a lease of a dead worker blocks other workers.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for tick := time.NewTicker(2 * time.Millisecond); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// holds begins a transaction that holds the locks of a statement until the transaction or the test ends.
func (b bench) holds(sql string, args ...any) pgx.Tx {
	b.t.Helper()
	tx, err := b.pool.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(b.t.Context())) })
	if _, err := tx.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatal(err)
	}
	return tx
}

// waitForLock waits until a statement of this database waits for a lock.
func (b bench) waitForLock() {
	b.t.Helper()
	until(b.t, "a statement waits for a lock", b.waits)
}

func (b bench) waits() bool {
	b.t.Helper()
	return b.waiting() > 0
}

// waiting returns how many statements of this database wait for a lock.
func (b bench) waiting() int {
	b.t.Helper()
	return value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}
