package devstacktest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devstacktest.Runner(m, "PawlTenant")) }

func TestEachTestGetsAnEmptyDatabaseOfTheSharedServer(t *testing.T) {
	first, second := devstacktest.Postgres(t), devstacktest.Postgres(t)
	if first == second {
		t.Fatalf("two databases, one address: %s", first)
	}
	for _, url := range []string{first, second} {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		// The same table in both databases: neither contains the table of the other.
		if _, err := conn.Exec(t.Context(), `CREATE TABLE thing (id int)`); err != nil {
			t.Error(err)
		}
		// The second client stays connected. The cleanup must still drop its database.
		if url == first {
			_ = conn.Close(t.Context())
		}
	}
}

// prepared counts the calls of prepare in TestCopiesOfAPreparedDatabase, over all runs of the test.
var prepared int

// TestCopiesOfAPreparedDatabase: prepare runs once, and each test has its own copy.
func TestCopiesOfAPreparedDatabase(t *testing.T) {
	prepare := func(ctx context.Context, url string) error {
		prepared++
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `CREATE TABLE thing (id int); INSERT INTO thing VALUES (1)`)
		return err
	}
	for range 2 {
		conn, err := pgx.Connect(t.Context(), devstacktest.PostgresFrom(t, prepare))
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("a copy has %d rows, %v; want 1", rows, err)
		}
		if _, err := conn.Exec(t.Context(), `INSERT INTO thing VALUES (2)`); err != nil {
			t.Error(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if prepared != 1 {
		t.Errorf("prepare ran %d times, want once", prepared)
	}
}

func TestTemporalAnswers(t *testing.T) {
	address := devstacktest.Temporal(t)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if again := devstacktest.Temporal(t); again != address {
		t.Errorf("a second server at %s beside %s", again, address)
	}
}
