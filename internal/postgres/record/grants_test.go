package record

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// TestListGrantsReadsApprovalsOnce: a list of many grants reads the approvals of the tenant once, and not once for each grant.
func TestListGrantsReadsApprovalsOnce(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), postgrestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	if _, err := conn.Exec(t.Context(), `INSERT INTO approval_grants (tenant_id, tool_id, granted, approver, approval_id, expires_at)
		SELECT 'acme', 'core__write_file', '{}', 'user:bob', n::text, now() + interval '1 hour' FROM generate_series(1, 100) n`); err != nil {
		t.Fatal(err)
	}
	statements, err := db.Statements(files)
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+statements["ListGrants"], "acme", db.MaxList).Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var explained []struct{ Plan plan }
	if err := json.Unmarshal(raw, &explained); err != nil {
		t.Fatal(err)
	}
	if got := explained[0].Plan.reads("approvals"); got != 1 {
		t.Errorf("the approvals are read %d times:\n%s", got, raw)
	}
}

// plan is a node of an explained statement.
type plan struct {
	RelationName string  `json:"Relation Name"`
	ActualLoops  float64 `json:"Actual Loops"`
	Plans        []plan
}

// reads returns how often the statement has read a table.
func (p plan) reads(table string) (n int) {
	if p.RelationName == table {
		n = int(p.ActualLoops)
	}
	for _, child := range p.Plans {
		n += child.reads(table)
	}
	return n
}
