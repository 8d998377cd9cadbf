package db

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// TestABrokenConnectionIsSeldomTheOnlyOne: after a server has dropped all connections, one statement fails and the next ones do not.
func TestABrokenConnectionIsSeldomTheOnlyOne(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), devstacktest.Postgres(t)+"&connect_timeout=60", Options{MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Take all connections of the pool at the same time.
	var taken []*pgxpool.Conn
	for range s.MaxConns() {
		conn, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Release) // without this, Close would wait for ever after a failure of the test
		taken = append(taken, conn)
	}
	for _, conn := range taken {
		conn.Release()
	}
	if n := s.pool.Stat().IdleConns(); int(n) != s.MaxConns() {
		t.Fatalf("%d connections idle, want %d", n, s.MaxConns())
	}
	ctx := context.WithoutCancel(t.Context())
	other, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(ctx)
	// The statement returns after the connections have ended.
	if _, err := other.Exec(ctx, `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	schema := s.With(files)
	failed := 0
	for range 2 * s.MaxConns() {
		if _, _, err := First[struct{ Version int64 }](t.Context(), schema, "look", Query("SchemaVersion", Values{})); err != nil {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d statements failed, want at most the first", failed)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	var r rate
	now := time.Now()
	for i, want := range []bool{true, false, true} {
		if got := r.allow(now.Add(time.Duration(i) * 600 * time.Millisecond)); got != want {
			t.Errorf("%d: %t, want %t", i, got, want)
		}
	}
}
