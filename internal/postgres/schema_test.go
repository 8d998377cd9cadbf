package postgres_test

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files")

// TestSchema compares the schema after all migrations with schema.sql, so that a review of a migration shows its result.
func TestSchema(t *testing.T) {
	const golden = "schema.sql"
	b := open(t)
	got := strings.TrimLeft(strings.Join(b.lines(schemaLines), "\n"), "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	had := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		had[line] = true
	}
	for line := range strings.Lines(got) {
		if !had[line] {
			t.Errorf("new: %s", line)
		}
		delete(had, line)
	}
	for line := range had {
		t.Errorf("gone: %s", line)
	}
	t.Error("run: go test ./internal/postgres -run TestSchema -update")
}

func (b bench) lines(sql string) []string {
	return strings.Split(value[string](b, `SELECT string_agg(line, E'\n' ORDER BY at COLLATE "C", n, line COLLATE "C") FROM (`+sql+`) lines`), "\n")
}

// schemaLines reads the catalogs of the server. NOT NULL is printed with its column only, although newer servers also list it as a constraint.
const schemaLines = `
WITH tables AS (
	SELECT c.oid, c.relname::text AS name, c.relkind, c.relispartition, c.relpartbound
	FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'goose_db_version'
)
SELECT name AS at, 0 AS n, E'\n' || CASE
		WHEN relispartition THEN 'TABLE ' || name || ' PARTITION OF ' || (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = oid) || ' ' || pg_get_expr(relpartbound, oid)
		WHEN relkind = 'p' THEN 'TABLE ' || name || ' PARTITION BY ' || pg_get_partkeydef(oid)
		ELSE 'TABLE ' || name
	END AS line
FROM tables
UNION ALL
SELECT t.name, a.attnum, '    ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
	|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
	|| coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
	|| CASE a.attidentity WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE NOT t.relispartition
UNION ALL
SELECT t.name, 1000, '    CONSTRAINT ' || c.conname || ' ' || pg_get_constraintdef(c.oid, true)
FROM tables t JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype <> 'n' WHERE NOT t.relispartition
UNION ALL
SELECT t.name, 2000, '    ' || pg_get_indexdef(i.indexrelid)
FROM tables t JOIN pg_index i ON i.indrelid = t.oid
WHERE NOT t.relispartition AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.conrelid = i.indrelid)
UNION ALL
SELECT t.name, 3000, '    ' || pg_get_triggerdef(g.oid, true)
FROM tables t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
UNION ALL
SELECT 'zz ' || proname, 0, E'\n' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`
