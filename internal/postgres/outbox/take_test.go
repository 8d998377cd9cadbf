package outbox

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// TestTakeReadsNoBacklog: a batch of messages comes from the index in its order, also if many messages are due.
func TestTakeReadsNoBacklog(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), postgrestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `INSERT INTO outbox (kind, namespace, workflow_id, signal, payload, next_at)
		SELECT 'signal', CASE WHEN n % 10 = 0 THEN '' ELSE 'pawl' END, 'w' || n, 'recheck', '{}', now() - n * interval '1 second' FROM generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `ANALYZE outbox`); err != nil {
		t.Fatal(err)
	}
	statements, err := db.Statements(files)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN "+statements["TakeMessages"], 32, "pawl", "1 minute")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "Sort") || strings.Contains(text, "Seq Scan on outbox") || strings.Count(text, "outbox_due_by_namespace") != 2 {
		t.Errorf("the plan:\n%s", text)
	}
}
