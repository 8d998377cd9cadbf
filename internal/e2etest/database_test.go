package e2etest

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// query returns the rows of a statement as one type.
func query[T any](w *world, sql string, args ...any) []T {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(w.t.Context())
	rows, err := conn.Query(w.t.Context(), sql, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func scalar[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	found := query[T](w, sql, args...)
	if len(found) != 1 {
		w.t.Fatalf("%s: %d rows, want one", sql, len(found))
	}
	return found[0]
}

// raw is JSON as the one argument of a workflow or signal.
func raw(text string) []any { return []any{json.RawMessage(text)} }
