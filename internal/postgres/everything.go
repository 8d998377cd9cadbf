package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// tableRow is the row of AllTables.
type tableRow struct {
	Schema, Name string
	Key          []string
}

// EachRow visits every row of every table of the schemas that this program sees, table by table: the columns of the table's primary key,
// and the row as a JSON object, bytes in hexadecimal. A table that may not be read is an error: what was not seen is not known. It holds
// one row at a time; row is valid until visit returns, and an error of visit ends it.
func (s *Store) EachRow(ctx context.Context, visit func(table string, key []string, row []byte) error) error {
	tables, err := all[tableRow](ctx, s, "list all tables", step{"AllTables", named{}})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := s.eachRowOf(ctx, t, visit); err != nil {
			return err
		}
	}
	return nil
}

// eachRowOf reads by a statement that is made here, for no parameter stands for a table. A partition that was dropped meanwhile has no rows.
func (s *Store) eachRowOf(ctx context.Context, t tableRow, visit func(table string, key []string, row []byte) error) error {
	rows, err := s.pool.Query(ctx, "SELECT row_to_json(r)::text FROM ONLY "+pgx.Identifier{t.Schema, t.Name}.Sanitize()+" r")
	if err != nil {
		return s.failed("read all rows of "+t.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(t.Name, t.Key, rows.RawValues()[0]); err != nil {
			return err
		}
	}
	err = s.failed("read all rows of "+t.Name, rows.Err())
	var refused *Error
	if errors.As(err, &refused) && refused.State == "42P01" { // no such table
		return nil
	}
	return err
}
