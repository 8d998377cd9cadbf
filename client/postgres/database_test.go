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
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestRoles: a Database needs no right but SELECT to read, and pawl_client has what it needs to write texts of turns.
func TestRoles(t *testing.T) {
	t.Parallel()
	t.Run("select", func(t *testing.T) {
		readsAs(t, func(role string) []string { return []string{`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ` + role} })
	})
	t.Run("client", func(t *testing.T) {
		db := readsAs(t, func(role string) []string {
			return []string{`GRANT pawl_client TO ` + role, `INSERT INTO role_tenants VALUES ('` + role + `', 'acme')`}
		})
		for _, e := range []client.TurnEvent{{Key: "turn", Text: "Hi", OwnerID: "user:ann"}, {Key: "turn", Done: true}} {
			if err := db.Append(t.Context(), "acme", "run", e); err != nil {
				t.Error(err)
			}
		}
		var kinds []toolspec.RunEventKind
		for e, err := range db.Watch(t.Context(), "acme", "run", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if kinds = append(kinds, e.Kind); e.Kind == toolspec.RunDone {
				break
			}
		}
		if len(kinds) != 2 {
			t.Errorf("got %v", kinds)
		}
		if run, err := db.Run(t.Context(), "acme", "run"); err != nil || run.LastSeq != 2 {
			t.Errorf("%+v, %v", run, err)
		}
		if _, _, err := db.OwnsRun(t.Context(), "acme", "run", "user:ann", 0); err != nil {
			t.Error(err)
		}
		if _, err := db.AgentRuns(t.Context(), client.AgentRunFilter{TenantID: "acme"}); err != nil {
			t.Error(err)
		}
		if _, err := db.AgentRun(t.Context(), client.RoundFilter{TenantID: "acme", RunID: "none"}); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a run that is not there: %v", err)
		}
		if err := db.Append(t.Context(), "globex", "run", client.TurnEvent{Key: "turn", Text: "Hi"}); err == nil {
			t.Error("a client has written to a run of another tenant")
		}
	})
}

// readsAs checks that a new role with grants reads what a Database reads, and returns the Database.
func readsAs(t *testing.T, grants func(role string) []string) *clientpg.Database {
	t.Helper()
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
	db, err := clientpg.Open(t.Context(), reader(t, owner, grants))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
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
	return db
}

// reader returns the address of the database for a new role with grants.
func reader(t *testing.T, owner string, grants func(role string) []string) string {
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
	run(t.Context(), append([]string{`CREATE ROLE ` + role + ` LOGIN PASSWORD 'reads'`}, grants(role)...)...)
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
