package postgres_test

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
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
	functions := []string{"0020_runs.sql", "0021_output_bucket.sql", "0032_roles.sql", "0033_audit.sql", "0038_trigger_queue.sql", "0039_trigger_sources.sql", "0041_agent_runs_shown.sql"}
	for name, text := range migrationTexts(t) {
		for _, no := range []string{"+goose down", "create function", "create or replace function", "create trigger", "create extension"} {
			if slices.Contains(functions, name) && contains(no, "create") && no != "create extension" {
				continue
			}
			if contains(strings.ToLower(text), no) {
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

// TestMigrationsBesideCalls: a migration holds no lock while it reads or writes a whole table. So it builds an index with CONCURRENTLY, and changes rows in a block that commits often.
// The first release is as it is, and it had few rows.
func TestMigrationsBesideCalls(t *testing.T) {
	const released = "0034_agent_runs_swept.sql"
	small := []string{"triggers", "outbox", "trigger_queue"} // of the rows in outbox, the index has only those that wait
	builds := regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)`)
	rewrites := regexp.MustCompile(`(?m)^\s*(UPDATE|DELETE FROM) \w+`)
	for name, text := range migrationTexts(t) {
		if name <= released {
			continue
		}
		for _, m := range builds.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(text, "CREATE TABLE "+m[1]+" (") && !slices.Contains(small, m[1]) {
				t.Errorf("%s builds an index of %s without CONCURRENTLY", name, m[1])
			}
		}
		if m := rewrites.FindString(bodies.ReplaceAllString(text, "")); m != "" {
			t.Errorf("%s has %q outside of a block that commits", name, m)
		}
	}
}

// TestMigrationsWaitShortlyForLocks: a migration that locks a table of calls has a short limit for the wait, because all calls wait behind it.
func TestMigrationsWaitShortlyForLocks(t *testing.T) {
	texts := migrationTexts(t)
	for _, name := range []string{"0017_hook_entries.sql", "0018_endings.sql"} {
		if !strings.Contains(texts[name], "\nSET LOCAL lock_timeout = '5s';\n") {
			t.Errorf("%s waits for its locks without a limit", name)
		}
	}
}

// bodies are the functions of a migration, which it does not run, and its blocks, which can have transactions of their own.
var bodies = regexp.MustCompile(`(?s)\$\$.*?\$\$`)

// migrationTexts returns the migrations by their names.
func migrationTexts(t *testing.T) map[string]string {
	names, err := fs.Glob(migrations.FS(), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	texts := make(map[string]string, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// TestShownBefore: the runs of an earlier release get the column shown in batches. While a batch waits for a run that is locked, the batches before it are
// visible, and other programs read and write the table.
func TestShownBefore(t *testing.T) {
	b := openAsOwner(t)
	b.sql(`INSERT INTO agent_runs (tenant_id, run_id, input_digest, agent, version, document, input)
		SELECT $1, to_char(n, 'FM000'), '', 'a', '1', '{}', '{"context":{"actorId":"user:ann"}}' FROM generate_series(1, 250) n`, tenant)
	b.sql(`UPDATE agent_runs SET shown = NULL`)
	b.sql(`DELETE FROM goose_db_version WHERE version_id >= 42`)
	shown := func() int {
		return value[int](b, `SELECT count(*) FROM agent_runs WHERE shown->>'actorId' = 'user:ann'`)
	}
	held := b.holds(`SELECT FROM agent_runs WHERE run_id = '240' FOR UPDATE`)
	done := make(chan error, 1)
	go func() {
		_, err := b.Migrate(t.Context())
		done <- err
	}()
	b.waitForLock()
	if n := shown(); n != 230 {
		t.Errorf("%d runs have the column, want the first 23 batches of 10", n)
	}
	b.sql(`UPDATE agent_runs SET rounds = 1 WHERE run_id <= '230'`)
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := shown(); n != 250 {
		t.Errorf("%d runs have the column", n)
	}
}
