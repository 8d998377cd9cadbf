package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestARoleThatOnlyReads: a Database needs no right but SELECT.
func TestARoleThatOnlyReads(t *testing.T) {
	t.Parallel()
	owner := postgrestest.Database(t)
	store, err := postgres.Open(t.Context(), owner, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntenants: {acme: {allowedTools: [], mode: auto}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.ApplyPolicy(t.Context(), p, "test"); err != nil {
		t.Fatal(err)
	}
	db, err := clientpg.Open(t.Context(), reader(t, owner))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Calls(t.Context(), client.CallFilter{TenantID: "acme"}); err != nil {
		t.Error(err)
	}
	if _, err := db.Approvals(t.Context(), client.ApprovalFilter{TenantID: "acme", Decided: true}); err != nil {
		t.Error(err)
	}
	if _, err := db.Catalog(t.Context(), catalog.Viewer{TenantID: "acme"}); err != nil {
		t.Error(err)
	}
	if _, err := db.Call(t.Context(), "acme", "none"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a call that is not there: %v", err)
	}
	if _, err := db.Output(t.Context(), "acme", "out_none"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an output that is not there: %v", err)
	}
}

// reader returns the address of the database for a new role that may only SELECT.
func reader(t *testing.T, owner string) string {
	t.Helper()
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	role := "reader_" + strings.TrimPrefix(u.Path, "/")
	run := func(ctx context.Context, statements ...string) {
		conn, err := pgx.Connect(ctx, owner)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		for _, sql := range statements {
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(t.Context(), `CREATE ROLE `+role+` LOGIN PASSWORD 'reads'`, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO `+role)
	t.Cleanup(func() { run(context.WithoutCancel(t.Context()), `DROP OWNED BY `+role, `DROP ROLE `+role) })
	u.User = url.UserPassword(role, "reads")
	return u.String()
}

// TestOpenSaysNothingOfThePassword: an address that cannot be used is refused without it.
func TestOpenSaysNothingOfThePassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://nobody:canary@127.0.0.1:1/none", "postgres://u:canary@["} {
		if _, err := clientpg.Open(t.Context(), address); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v", err)
		}
	}
}
