package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/internal/postgres"
)

// TestQueries prepares every statement on a migrated schema. Whether columns match the fields they are read into, both ways, is what
// reading them by name says wherever a test runs them; queriesRun sees to it that every one is run.
func TestQueries(t *testing.T) {
	b := open(t)
	conn, err := b.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	queries := postgres.Queries(t)
	if len(queries) < 20 {
		t.Fatalf("found %d queries", len(queries))
	}
	for name, sql := range queries {
		if _, err := conn.Conn().Prepare(t.Context(), "test_"+name, sql); err != nil {
			t.Errorf("%s: %v\n%s", name, err, sql)
		}
	}
}
