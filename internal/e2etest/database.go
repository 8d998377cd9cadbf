package e2etest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Query returns the rows of a statement as one type.
func Query[T any](w *World, sql string, args ...any) []T {
	w.T.Helper()
	rows, err := w.queries.Query(w.T.Context(), sql, args...)
	if err != nil {
		w.T.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		w.T.Fatal(err)
	}
	return found
}

// openQueries opens the connections of [Query]. A new connection for each query would cost as much as many
// calls, because each new connection reads the catalog of all partitions.
func (w *World) openQueries() {
	w.T.Helper()
	config, err := pgxpool.ParseConfig(w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	config.MaxConns = 4
	// Some tests stop the server and start it again, and some change the schema.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	if w.queries, err = pgxpool.NewWithConfig(context.WithoutCancel(w.T.Context()), config); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(w.queries.Close)
}

// Scalar returns the one value of a statement.
func Scalar[T any](w *World, sql string, args ...any) T {
	w.T.Helper()
	found := Query[T](w, sql, args...)
	if len(found) != 1 {
		w.T.Fatalf("%s: %d rows, want one", sql, len(found))
	}
	return found[0]
}

// RawArgs returns the arguments of a workflow or a signal whose only argument is a JSON text.
func RawArgs(text string) []any { return []any{json.RawMessage(text)} }

// LockTable locks a table until release is called.
func (w *World) LockTable(table string) (release func()) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, `BEGIN; LOCK TABLE `+pgx.Identifier{table}.Sanitize()+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		w.T.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
			w.T.Fatal(err)
		}
	}
}

// Hold makes every statement wait that fires one of the triggers, until release is called. A trigger is the text of CREATE TRIGGER between BEFORE and EXECUTE. isHeld
// reports whether as many statements wait as there are triggers. The statements wait while they run; with LockTable they would wait while they are prepared.
func (w *World) Hold(triggers ...string) (isHeld func() bool, release func()) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = conn.Close(ctx) })
	statements := []string{
		`SELECT pg_advisory_lock(4712)`,
		`CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(4712); RETURN NEW; END'`,
	}
	for _, trigger := range triggers {
		statements = append(statements, fmt.Sprintf(`CREATE TRIGGER hold_%s BEFORE %s EXECUTE FUNCTION hold()`, strings.ToLower(rand.Text()), trigger))
	}
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			w.T.Fatal(err)
		}
	}
	isHeld = func() bool {
		return Scalar[bool](w, `SELECT count(*) >= $1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4712 AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, len(triggers))
	}
	return isHeld, func() {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock(4712)`); err != nil {
			w.T.Fatal(err)
		}
	}
}
