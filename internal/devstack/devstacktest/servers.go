package devstacktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/internal/devstack"
)

const (
	notPrepared = "the shared servers have no end: write func TestMain(m *testing.M) { devstacktest.Main(m) }"
	sqlTimeout  = time.Minute
	inUse       = "55006"    // Postgres's object_in_use
	template    = "template" // the database that PostgresFrom copies
)

// Postgres returns the URL of a new, empty database on the shared server. The database is dropped when the test ends, even if clients are
// connected.
func Postgres(t testing.TB) string {
	t.Helper()
	return create(t, sharedPostgres(t), "template1")
}

// PostgresFrom returns the URL of a new copy of a database that prepare has filled. Only the first call in a test binary runs prepare,
// because a copy is much faster than the migrations of a schema. The copy is dropped like a database of [Postgres].
func PostgresFrom(t testing.TB, prepare func(ctx context.Context, url string) error) string {
	t.Helper()
	server := sharedPostgres(t)
	if err := shared.prepareTemplate(t.Context(), server, prepare); err != nil {
		t.Fatalf("prepare the databases of the tests: %v", err)
	}
	return create(t, server, template)
}

// prepareTemplate creates the database that PostgresFrom copies, unless an earlier call did. Later calls return its error.
func (s *servers) prepareTemplate(ctx context.Context, server *devstack.Postgres, prepare func(ctx context.Context, url string) error) error {
	s.template.Do(func() {
		s.templateErr = execute(ctx, server.URL(), "CREATE DATABASE "+template)
		if s.templateErr == nil {
			s.templateErr = prepare(ctx, at(server, template))
		}
		if s.templateErr == nil {
			// A database with connections cannot be copied.
			s.templateErr = execute(ctx, server.URL(), "ALTER DATABASE "+template+" ALLOW_CONNECTIONS false")
		}
	})
	return s.templateErr
}

// create creates a database for the test as a copy of another.
func create(t testing.TB, server *devstack.Postgres, from string) string {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text())
	sql := "CREATE DATABASE " + name + " TEMPLATE " + from
	if server.Major() >= 15 {
		sql += " STRATEGY file_copy" // the default before 15; the newer default also writes all data to the log
	}
	if err := execute(t.Context(), server.URL(), sql); err != nil {
		t.Fatalf("make a database for the test: %v", err)
	}
	t.Cleanup(func() {
		// The context of the test has ended.
		if err := drop(context.WithoutCancel(t.Context()), server.URL(), name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return at(server, name)
}

// at returns the URL of a database of the server.
func at(server *devstack.Postgres, database string) string {
	address, err := url.Parse(server.URL())
	if err != nil {
		panic(err) // package url has formatted the URL
	}
	address.Path = "/" + database
	return address.String()
}

// drop drops a database and ends its connections. The server gives them five seconds, and a busy machine can need more, so drop tries
// again.
func drop(ctx context.Context, url, name string) error {
	for deadline := time.Now().Add(sqlTimeout); ; {
		err := execute(ctx, url, "DROP DATABASE "+name+" WITH (FORCE)")
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != inUse || time.Now().After(deadline) {
			return err
		}
	}
}

// Temporal returns the host:port of the shared server, a dev server unless FullServer was called. Its namespace is "default". All tests of the binary share it, so workflow ids
// and task queues must differ between tests.
func Temporal(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.prepared {
		t.Fatal(notPrepared)
	}
	server, err := shared.temporal.get(func() (*devstack.Temporal, error) {
		return devstack.StartTemporal(t.Context(), devstack.TemporalOptions{Full: shared.full, SearchAttributes: shared.searchAttributes, Progress: progress})
	})
	if err != nil {
		t.Fatal(err)
	}
	return server.Address()
}

func sharedPostgres(t testing.TB) *devstack.Postgres {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.prepared {
		t.Fatal(notPrepared)
	}
	server, err := shared.postgres.get(func() (*devstack.Postgres, error) {
		return devstack.StartPostgres(t.Context(), devstack.PostgresOptions{Dir: dataDir()})
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func execute(ctx context.Context, url, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, sqlTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the shared Postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}
