package querytest

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// Run prepares every statement of files, plans it as pawl_worker, and compares its columns with the fields of its row type
// in rows. effectOnly names the statements that return no rows to read.
func Run(t *testing.T, files fs.FS, rows map[string]reflect.Type, effectOnly ...string) {
	t.Helper()
	statements, err := db.Statements(files)
	if err != nil {
		t.Fatal(err)
	}
	if len(statements) != len(rows)+len(effectOnly) {
		t.Errorf("%d queries; %d are read and %d are not", len(statements), len(rows), len(effectOnly))
	}
	pool, err := pgxpool.New(t.Context(), postgrestest.Database(t)+"&connect_timeout=60")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string) error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	}
	for name, sql := range statements {
		prepared, err := conn.Conn().Prepare(t.Context(), "test_"+name, sql)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, sql)
			continue
		}
		// EXPLAIN checks privileges: pawl_worker must have all privileges that the statement needs.
		values := strings.TrimSuffix("("+strings.Repeat("NULL, ", len(prepared.ParamOIDs)), ", ") + ")"
		if len(prepared.ParamOIDs) == 0 {
			values = ""
		}
		if err := errors.Join(exec("SET ROLE pawl_worker"), exec(fmt.Sprintf(`EXPLAIN EXECUTE "test_%s"%s`, name, values)), exec("RESET ROLE")); err != nil {
			t.Errorf("%s as pawl_worker: %v", name, err)
		}
		row, read := rows[name]
		if !read {
			if !slices.Contains(effectOnly, name) {
				t.Errorf("%s is read into nothing", name)
			}
			continue
		}
		var columns []string
		for _, f := range prepared.Fields {
			columns = append(columns, strings.ReplaceAll(f.Name, "_", ""))
		}
		want := fields(row)
		slices.Sort(columns)
		slices.Sort(want)
		if !slices.Equal(columns, want) {
			t.Errorf("%s returns %v, its row has %v", name, columns, want)
		}
	}
}

// fields returns the column names of a row's fields, without underscores.
func fields(row reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(row) {
		switch {
		case f.Anonymous:
		case f.Tag.Get("db") != "":
			names = append(names, strings.ReplaceAll(f.Tag.Get("db"), "_", ""))
		default:
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}
