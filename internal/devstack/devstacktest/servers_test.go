package devstacktest_test

import (
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
		// The same table in both: neither sees the other's.
		if _, err := conn.Exec(t.Context(), `CREATE TABLE thing (id int)`); err != nil {
			t.Error(err)
		}
		// The second stays connected: the cleanup must drop its database all the same.
		if url == first {
			_ = conn.Close(t.Context())
		}
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
