package postgres_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// seen returns the rows and the last key of each table that EachRow visits.
func (b bench) seen() (rows map[string][]string, keys map[string]string, err error) {
	b.t.Helper()
	rows, keys = map[string][]string{}, map[string]string{}
	err = b.EachRow(b.t.Context(), func(table string, key []string, row []byte) error {
		if !json.Valid(row) {
			b.t.Errorf("%s: %s", table, row)
		}
		rows[table], keys[table] = append(rows[table], string(row)), strings.Join(key, " ")
		return nil
	})
	return rows, keys, err
}

// TestEachRow: EachRow visits each row once, of every table of the database, also of tables that Pawl has not created.
func TestEachRow(t *testing.T) {
	b := openAsOwner(t)
	b.whole("one")
	b.sql(`CREATE TABLE "New Table" (a integer, b text, c bytea, d json, PRIMARY KEY (b, a))`)
	b.sql(`INSERT INTO "New Table" VALUES (1, 'x', '\xdeadbeef', '{"k" : "\u0000"}'), (2, 'y', NULL, NULL)`)
	b.sql(`CREATE TABLE keyless (n integer); INSERT INTO keyless VALUES (7)`)
	rows, keys, err := b.seen()
	if err != nil {
		t.Fatal(err)
	}
	if got := rows["New Table"]; len(got) != 2 || !strings.Contains(got[0], `\\xdeadbeef`) || !strings.Contains(got[0], `"k" : "\u0000"`) || keys["New Table"] != "b a" {
		t.Errorf("the new table has %q by %q", got, keys["New Table"])
	}
	if len(rows["keyless"]) != 1 || keys["keyless"] != "" || keys["invocations"] != "invocation_id" {
		t.Errorf("the keys are %v", keys)
	}
	for _, table := range []string{"invocations", "claims", "approvals", "decisions", "goose_db_version"} {
		if len(rows[table]) == 0 {
			t.Errorf("%s was not read", table)
		}
	}
	for _, parent := range partitioned {
		n := len(rows[parent])
		for table := range rows {
			if strings.HasPrefix(table, parent+"_") {
				n += len(rows[table])
			}
		}
		if want := value[int](b, `SELECT count(*)::integer FROM `+parent); n != want || n == 0 {
			t.Errorf("%s: %d rows were read, want %d", parent, n, want)
		}
	}
	// An error of the function ends the visit.
	enough := errors.New("enough")
	n := 0
	if err := b.EachRow(t.Context(), func(string, []string, []byte) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("visited %d rows, %v", n, err)
	}
}
