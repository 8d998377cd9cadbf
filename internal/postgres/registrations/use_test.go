package registrations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// TestRegistrationsInUse: workers need the versions in force, those that ended a moment ago, and those with which open calls were admitted. The
// history of registrations and of calls does not count.
func TestRegistrationsInUse(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	version := func(tenant, name string, version int, kind, tool, ended string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), `INSERT INTO tool_registrations (tenant_id, name, version, kind, digest, address, tools, document, registered_by, ended_by, ended_at)
			VALUES ($1, $2, $3, $4, '', '', ARRAY[$5], 'x', '', CASE WHEN $6 <> '' THEN '' END, now() - nullif($6, '')::interval)`, tenant, name, version, kind, tool, ended); err != nil {
			t.Fatal(err)
		}
	}
	version("acme", "shop", 1, "http", "tenant-acme__a", "3 hours")
	version("acme", "shop", 2, "http", "tenant-acme__a", "1 hour")
	version("acme", "shop", 3, "http", "tenant-acme__b", "1 hour")
	version("acme", "shop", 4, "http", "tenant-acme__a", "")
	version("acme", "now", 1, "http", "tenant-acme__n", "1 minute")
	version("acme", "tenant-acme_docs", 1, "mcp", "mcp__tenant-acme_docs__*", "61 minutes")
	version("acme", "tenant-acme_doc", 1, "mcp", "mcp__tenant-acme_doc__*", "1 hour")
	version("globex", "shop", 1, "http", "tenant-acme__a", "1 hour") // no document has such tools
	if _, err := conn.Exec(t.Context(), `ALTER TABLE invocations DROP CONSTRAINT invocations_id_is_identity`); err != nil {
		t.Fatal(err)
	}
	call := func(tool string, n int) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), `INSERT INTO invocations (invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, workflow_id, temporal_run_id,
			input_digest, plan, started_at, created_at)
			SELECT gen_random_uuid(), 'acme', 'r', 'c', $1, 'a', 'w', 'r', '', '{}', now(), now() - interval '90 minutes' FROM generate_series(1, $2)`, tool, n); err != nil {
			t.Fatal(err)
		}
	}
	call("tenant-acme__a", 3)
	call("mcp__tenant-acme_docs__search", 1)
	s := New(d)
	rows, err := s.RegistrationsInUse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s/%s/%d/%t/%d", r.TenantID, r.Name, r.Version, r.InForce, r.Bytes))
	}
	if got, want := strings.Join(got, " "), "acme/shop/4/true/1 acme/now/1/false/1 acme/shop/2/false/1 acme/tenant-acme_docs/1/false/1"; got != want {
		t.Errorf("in use are %s\nwant %s", got, want)
	}

	// With a long history, the indexes must keep the statement from reading all of it.
	call("core__a", 20000)
	if _, err := conn.Exec(t.Context(), `INSERT INTO tool_registrations (tenant_id, name, version, kind, digest, address, tools, document, registered_by, ended_by, ended_at)
		SELECT CASE WHEN n % 100 = 0 THEN 'acme' ELSE 't' || n % 100 END, 'old', n, 'http', '', '', (SELECT array_agg('tenant-acme__' || i) FROM generate_series(1, 20) i), 'x', '', '', now() - interval '10 days' FROM generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	statements, err := db.Statements(files)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := conn.Query(t.Context(), "EXPLAIN "+statements["RegistrationsInUse"], margin, maxEnded)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(plan, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "Seq Scan") || !strings.Contains(text, "invocations_open_registered") || !strings.Contains(text, "tool_registrations_ended_by_tenant") {
		t.Errorf("the plan:\n%s", text)
	}
	began := time.Now()
	if _, err := s.RegistrationsInUse(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log("with a long history, the question takes", time.Since(began))
}
