package reads

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// tableRow is a row of the statement AllTables.
type tableRow struct {
	Schema, Name string
	Key          []string
}

// EachRow visits every row of every table in the schemas of the search path, table by table.
// visit receives the columns of the table's primary key, and the row as a JSON object with bytes
// in hexadecimal. If one table cannot be read, EachRow returns an error, so that its caller does not
// take a part of the rows for all rows. EachRow holds one row at a time. row is valid until visit
// returns; an error of visit ends EachRow.
func (s *Store) EachRow(ctx context.Context, visit func(table string, key []string, row []byte) error) error {
	tables, err := db.All[tableRow](ctx, s.db, "list all tables", db.Query("AllTables", db.Values{}))
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

// eachRowOf visits the rows of one table. A partition that was dropped meanwhile has no rows.
func (s *Store) eachRowOf(ctx context.Context, t tableRow, visit func(table string, key []string, row []byte) error) error {
	err := s.db.EachRow(ctx, "read all rows of "+t.Name, t.Schema, t.Name, func(row []byte) error { return visit(t.Name, t.Key, row) })
	var refused *db.Error
	if errors.As(err, &refused) && refused.State == "42P01" { // no such table
		return nil
	}
	return err
}
