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

// otherPolicy is a version that differs by its tenant's name.
func otherPolicy(t testing.TB, name string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("test", []byte("version: 1\ntenants: {"+name+": {allowedTools: [core__*], mode: ask}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ownRun is the run of Temporal that admits the calls of tests.
const ownRun = "temporal-run-1"

// own is a context in which that run executes.
func own(t testing.TB) context.Context { return executes(t.Context(), ownRun) }

func executes(ctx context.Context, runID string) context.Context {
	return contract.WithExecution(ctx, contract.Execution{RunID: runID, Local: true})
}

// until polls for a condition, for longer than what was taken and lost stays taken.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for tick := time.NewTicker(2 * time.Millisecond); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// holds begins a transaction, which has the locks of a statement until it ends: with the test, where it was not ended before.
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

// waitForLock waits until some statement of this database waits for another's lock.
func (b bench) waitForLock() {
	b.t.Helper()
	until(b.t, "a statement waits for a lock", b.waits)
}

func (b bench) waits() bool {
	b.t.Helper()
	return value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
}
