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
	inUse       = "55006" // Postgres's object_in_use
)

// Postgres returns the URL of a fresh, empty database on the shared server. The database is dropped when the test ends, whoever
// is still connected.
func Postgres(t testing.TB) string {
	t.Helper()
	server := sharedPostgres(t)
	name := "t_" + strings.ToLower(rand.Text())
	if err := execute(t.Context(), server.URL(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("make a database for the test: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended.
		if err := drop(context.WithoutCancel(t.Context()), server.URL(), name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatalf("the server's address: %v", err)
	}
	address.Path = "/" + name
	return address.String()
}

// drop drops a database, whoever is connected. The server gives those whom it ends five seconds to go; a busy machine may need more.
func drop(ctx context.Context, url, name string) error {
	for deadline := time.Now().Add(sqlTimeout); ; {
		err := execute(ctx, url, "DROP DATABASE "+name+" WITH (FORCE)")
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != inUse || time.Now().After(deadline) {
			return err
		}
	}
}

// Temporal returns the host:port of the shared dev server; its namespace is "default". All tests of the binary share it, so
// workflow ids and task queues must differ between tests.
func Temporal(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.prepared {
		t.Fatal(notPrepared)
	}
	server, err := shared.temporal.get(func() (*devstack.Temporal, error) {
		return devstack.StartTemporal(t.Context(), devstack.TemporalOptions{SearchAttributes: shared.searchAttributes, Progress: progress})
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
		return devstack.StartPostgres(t.Context(), devstack.PostgresOptions{})
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
