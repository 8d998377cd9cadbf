package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// TestServersWordsStayInside: no error shows the detail of a constraint of the server, because the detail quotes the whole row.
func TestServersWordsStayInside(t *testing.T) {
	b := open(t)
	row := admitRow("call_1")
	row.InvocationID, row.Invocation.Context.ActorID = id("call_2"), "canary"
	_, err := b.Admit(t.Context(), row)
	if err == nil || errs.IsTransient(err) {
		t.Fatalf("%v", err)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := fmt.Sprintf("%v %+v %#v", e, e, e); contains(text, "canary") {
			t.Errorf("%T: %s", e, text)
		}
	}
	if got := errs.Reason(err); got != "postgres: admit: 23514" {
		t.Error(got)
	}
}

// TestValuesTheDriverCannotSendStayInside: no error shows a value that the driver cannot send, although the errors of the driver quote it.
func TestValuesTheDriverCannotSendStayInside(t *testing.T) {
	b := open(t)
	row := claimRow("call_1", 1, 1)
	row.InvocationID = "canary"
	_, err := b.Claim(own(t), row)
	if err == nil || errs.IsTransient(err) || contains(err.Error()+errs.Reason(err), "canary") {
		t.Errorf("%v, %s", err, errs.Reason(err))
	}
}

func wantTransient(t *testing.T, err error, reason string) {
	t.Helper()
	if !errs.IsTransient(err) || errs.Reason(err) != reason {
		t.Errorf("transient %v, reason %q; want %q", errs.IsTransient(err), errs.Reason(err), reason)
	}
}

func TestReadOnlyDatabaseIsTransient(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.sql(`DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET default_transaction_read_only = on'; END $$`)
	b.works.Reset()
	_, err := b.Admit(t.Context(), admitRow("call_1"))
	wantTransient(t, err, "postgres: admit: 25006")
	_, err = b.Settle(own(t), settleIn("call_1", 1))
	wantTransient(t, err, "postgres: settle: 25006")
}

// TestKilledConnectionIsTransient: the error is transient when the server ends the session in the middle of a statement.
func TestKilledConnectionIsTransient(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.holds(`SELECT FROM invocations FOR UPDATE`)
	got := make(chan error, 1)
	go func() {
		_, err := b.Settle(own(t), settleIn("call_1", 1))
		got <- err
	}()
	b.waitForLock()
	b.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	wantTransient(t, <-got, "postgres: settle: 57P01")
}

func TestDeadlineIsTransient(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.holds(`SELECT FROM invocations FOR UPDATE`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.Claim(ctx, claimRow("call_1", 1, 1))
	wantTransient(t, err, "postgres: claim: deadline (no answer in time)")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not the context's", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Admit(cancelled, admitRow("call_1"))
	wantTransient(t, err, "postgres: admit: cancelled")
}

// TestExhaustedPoolIsTransient: the error is transient when every connection of the pool is in use.
func TestExhaustedPoolIsTransient(t *testing.T) {
	b := open(t)
	s, err := postgres.Open(t.Context(), b.url, postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close) // Close waits for the statement, which ends with the context of the test
	if n := s.MaxConns(); n != 1 {
		t.Errorf("%d connections", n)
	}
	b.admit("call_1")
	tx := b.holds(`LOCK TABLE invocations`)
	busy := make(chan error, 1)
	go func() {
		_, err := s.Admit(t.Context(), admitRow("call_1"))
		busy <- err
	}()
	b.waitForLock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = s.ActivePolicy(ctx)
	wantTransient(t, err, "postgres: active policy: deadline (no answer in time)")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-busy; err != nil {
		t.Error(err)
	}
}

func TestTooManyConnectionsIsTransient(t *testing.T) {
	b := open(t)
	config, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	// A limit of connections does not apply to a superuser.
	role := "limited_" + config.ConnConfig.Database
	b.sql(`CREATE ROLE ` + role + ` LOGIN PASSWORD 'limited'`)
	t.Cleanup(func() {
		if _, err := b.pool.Exec(context.WithoutCancel(t.Context()), `DROP ROLE `+role); err != nil {
			t.Error(err)
		}
	})
	b.sql(`ALTER DATABASE ` + config.ConnConfig.Database + ` CONNECTION LIMIT 0`)
	config.ConnConfig.User, config.ConnConfig.Password = role, "limited"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	wantTransient(t, postgres.New(pool).Ping(t.Context()), "postgres: ping: 53300")
}

func TestClosedStoreIsTransient(t *testing.T) {
	b := open(t)
	s, err := postgres.Open(t.Context(), b.url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	wantTransient(t, s.Ping(t.Context()), "postgres: ping: connection")
}

func TestOpen(t *testing.T) {
	b := open(t)
	s, err := postgres.Open(t.Context(), b.url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pawl'`); n == 0 {
		t.Error("no connection of that name")
	}
	_, err = postgres.Open(t.Context(), "postgres://nobody:canary@127.0.0.1:1/none", postgres.Options{})
	wantTransient(t, err, "postgres: open: connection (nothing listens there)")
	if contains(err.Error(), "canary") {
		t.Error(err)
	}
	for _, url := range []string{"postgres://u:canary@[", "postgres://u:canary@h:port/", "no url, canary"} {
		if _, err := postgres.Open(t.Context(), url, postgres.Options{}); err == nil || errs.IsTransient(err) || contains(err.Error(), "canary") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := postgres.Open(t.Context(), b.url, postgres.Options{MaxConns: -1}); err == nil {
		t.Error("a negative number of connections")
	}
}
