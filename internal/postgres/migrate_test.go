package postgres_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/migrations"
)

// TestMigrateAtOnce starts several workers on an empty database at the same time, all of them connected already. The table of versions is created before,
// because the workers would otherwise wait for each other while they create it.
func TestMigrateAtOnce(t *testing.T) {
	b := empty(t)
	if _, err := b.MigrationStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, 8)
	together(len(counts), func(int) {
		if _, err := b.pool.Exec(t.Context(), `SELECT pg_sleep(0.05)`); err != nil {
			t.Error(err)
		}
	})
	together(len(counts), func(i int) {
		applied, err := b.Migrate(t.Context())
		if err != nil {
			t.Error(err)
		}
		counts[i] = len(applied)
	})
	total := 0
	for _, n := range counts {
		total += n
	}
	steps, err := b.MigrationStatus(t.Context())
	if err != nil || total != len(steps) || len(steps) == 0 {
		t.Errorf("%d steps were applied of %d, %v", total, len(steps), err)
	}
	for _, step := range steps {
		if step.AppliedAt.IsZero() || step.Name == "" {
			t.Errorf("%+v", step)
		}
	}
}

func TestMigrateWithOneConnection(t *testing.T) {
	b := empty(t)
	s, err := postgres.Open(t.Context(), b.url, postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCheckSchema(t *testing.T) {
	b := empty(t)
	var behind *postgres.SchemaBehind
	if err := b.CheckSchema(t.Context()); !errors.As(err, &behind) || behind.Have != 0 || !contains(err.Error(), "run `pawl migrate up`") {
		t.Errorf("%v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`); n != 0 {
		t.Error("a check made tables")
	}
	if _, err := b.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	b.sql(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	if err := b.CheckSchema(t.Context()); err != nil {
		t.Errorf("a newer schema: %v", err)
	}
	if _, err := b.Migrate(t.Context()); err != nil {
		t.Errorf("a newer schema: %v", err)
	}
	b.sql(`DELETE FROM goose_db_version WHERE version_id > 0`)
	if err := b.CheckSchema(t.Context()); !errors.As(err, &behind) {
		t.Errorf("%v", err)
	}
}

// TestMigrationsGoForward: a migration has no step back, because that would remove parts of the schema that another release needs. It has no functions and
// no triggers, because all releases on the database would run them.
// Five migrations have triggers for that very reason. By them an older release also writes events of runs (ADR 0030), deletes the object of a chunk in a
// bucket (ADR 0032), writes events that are sealed (ADR 0058), queues events of Pawl for triggers (ADR 0064), and writes what readers may see of the input of a
// run (ADR 0069).
// A sixth migration has functions that let a worker do a few things that only the owner of the tables may do (ADR 0057). A seventh has a function for programs of others (ADR 0067).
func TestMigrationsGoForward(t *testing.T) {
	names, err := fs.Glob(migrations.FS(), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	functions := []string{"0020_runs.sql", "0021_output_bucket.sql", "0032_roles.sql", "0033_audit.sql", "0038_trigger_queue.sql", "0039_trigger_sources.sql", "0041_agent_runs_shown.sql"}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{"+goose down", "create function", "create or replace function", "create trigger", "create extension"} {
			if slices.Contains(functions, name) && contains(no, "create") && no != "create extension" {
				continue
			}
			if contains(strings.ToLower(string(text)), no) {
				t.Errorf("%s has %q", name, no)
			}
		}
	}
}

// TestPartitionsBesideACall checks that EnsurePartitions holds no lock of another table while it waits for the lock of one table. A call that writes to
// both tables would deadlock with it otherwise.
func TestPartitionsBesideACall(t *testing.T) {
	b := open(t)
	const lock = "LOCK TABLE %s_default IN ROW EXCLUSIVE MODE NOWAIT"
	call := b.holds(fmt.Sprintf(lock, "hydrations"))
	done := make(chan error, 1)
	go func() { done <- b.EnsurePartitions(t.Context(), 0) }()
	b.waitForLock()
	for _, table := range []string{"stage_events", "attempts", "payloads", "events"} {
		if _, err := call.Exec(t.Context(), fmt.Sprintf(lock, table)); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	if err := call.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestPartitionsBesideABusyTable checks that the other tables get their partitions while the lock of one table is held.
func TestPartitionsBesideABusyTable(t *testing.T) {
	b := open(t)
	b.holds("LOCK TABLE stage_events_default IN ROW EXCLUSIVE MODE NOWAIT")
	var late *postgres.Error
	if err := b.EnsurePartitions(t.Context(), 0); !errors.As(err, &late) || late.State != "55P03" {
		t.Errorf("got %v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'hydrations'::regclass`); n != 2 {
		t.Errorf("hydrations has %d partitions", n)
	}
}

func TestPartitions(t *testing.T) {
	b := open(t)
	b.admit("early")
	b.settle(settleIn("early", 1))
	together(8, func(int) {
		// A worker that has waited for a lock for two seconds gets an error and tries again. No other error may occur, in particular no deadlock.
		var err error
		until(t, "the partitions are made", func() bool {
			err = b.EnsurePartitions(t.Context(), 3)
			var late *postgres.Error
			return !errors.As(err, &late) || late.State != "55P03"
		})
		if err != nil {
			t.Error(err)
		}
	})
	children := func(parent string) int {
		return value[int](b, `SELECT count(*) FROM pg_inherits WHERE inhparent = $1::regclass`, parent)
	}
	// In four of the five tables the default partition has rows of this month, which stay there.
	for parent, want := range map[string]int{"stage_events": 4, "attempts": 4, "events": 4, "hydrations": 4, "payloads": 5} {
		if n := children(parent); n != want {
			t.Errorf("%s has %d partitions, want %d", parent, n, want)
		}
	}
	b.admit("later")
	b.sql(`UPDATE invocations SET month = (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month')::date WHERE tool_call_id = 'later'`)
	b.settle(settleIn("later", 1))
	if n := value[int](b, `SELECT count(*) FROM stage_events WHERE tableoid = ('stage_events' || to_char(now() AT TIME ZONE 'UTC' + interval '1 month' - interval '0', '_YYYY_MM'))::regclass`); n != 2 {
		t.Errorf("%d rows in the month's own partition", n)
	}
	if err := b.EnsurePartitions(t.Context(), 3); err != nil {
		t.Error(err)
	}
	for _, months := range []int{-1, 25} {
		if err := b.EnsurePartitions(t.Context(), months); err == nil {
			t.Errorf("%d months were accepted", months)
		}
	}
}

// TestMigrationsWaitShortlyForLocks: a migration that locks a table of calls has a short limit for the wait, because all calls wait behind it.
func TestMigrationsWaitShortlyForLocks(t *testing.T) {
	for _, name := range []string{"0017_hook_entries.sql", "0018_endings.sql"} {
		text, err := fs.ReadFile(migrations.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nSET LOCAL lock_timeout = '5s';\n") {
			t.Errorf("%s waits for its locks without a limit", name)
		}
	}
}
