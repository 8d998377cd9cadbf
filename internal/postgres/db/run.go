package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Step is a query with its values.
type Step struct {
	query  string
	values Values
}

// Query returns a Step of the query with that name.
func Query(name string, values Values) Step { return Step{name, values} }

// bound returns the SQL of a step and its arguments.
func (d *DB) bound(st Step) (sql string, args []any, err error) {
	q, ok := d.queries[st.query]
	if !ok {
		return "", nil, fmt.Errorf("there is no query %s", st.query)
	}
	args, err = q.bind(st.values)
	return q.sql, args, err
}

// Exec runs one statement that returns no rows, and returns the number of affected rows.
func (d *DB) Exec(ctx context.Context, op string, st Step) (int64, error) {
	sql, args, err := d.bound(st)
	if err != nil {
		return 0, Failure(op, err)
	}
	tag, err := d.pool.Exec(ctx, sql, args...)
	return tag.RowsAffected(), d.failed(op, err)
}

// ExecAll runs the statements one after another in one transaction. It reads no rows.
func (d *DB) ExecAll(ctx context.Context, op string, steps ...Step) error {
	return d.failed(op, pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		for _, st := range steps {
			sql, args, err := d.bound(st)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sql, args...); err != nil {
				return err
			}
		}
		return nil
	}))
}

// All runs one statement and returns its rows. The columns and the fields of T must match
// exactly.
func All[T any](ctx context.Context, d *DB, op string, st Step) ([]T, error) {
	sql, args, err := d.bound(st)
	if err != nil {
		return nil, Failure(op, err)
	}
	rows, err := d.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, d.failed(op, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return found, d.failed(op, err)
}

// First runs one statement and returns its first row, if any.
func First[T any](ctx context.Context, d *DB, op string, st Step) (row T, found bool, err error) {
	rows, err := All[T](ctx, d, op, st)
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// Batched runs the statements in one round trip and one transaction, and returns the first row
// of the last statement, if any.
func Batched[T any](ctx context.Context, d *DB, op string, steps ...Step) (row T, found bool, err error) {
	row, found, err = Sent[T](ctx, d, d.pool, steps...)
	return row, found, d.failed(op, err)
}

// Sender is a pool or a transaction.
type Sender interface {
	// SendBatch sends the statements of a batch in one round trip.
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Sent does what Batched does, on the pool or the transaction that the parameter to is. It returns the
// driver's error unchanged.
func Sent[T any](ctx context.Context, d *DB, to Sender, steps ...Step) (row T, found bool, err error) {
	all, err := SentAll[T](ctx, d, to, steps...)
	if len(all) > 0 {
		row, found = all[0], true
	}
	return row, found, err
}

// SentAll does what Sent does, and returns all rows of the last statement.
func SentAll[T any](ctx context.Context, d *DB, to Sender, steps ...Step) (all []T, err error) {
	var batch pgx.Batch
	for i, st := range steps {
		sql, args, err := d.bound(st)
		if err != nil {
			return nil, err
		}
		queued := batch.Queue(sql, args...)
		if i < len(steps)-1 {
			continue
		}
		queued.Query(func(rows pgx.Rows) (err error) {
			all, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
			return err
		})
	}
	err = to.SendBatch(ctx, &batch).Close()
	return all, err
}

// Within runs f in one transaction.
func (d *DB) Within(ctx context.Context, op string, f func(pgx.Tx) error) error {
	return d.failed(op, pgx.BeginFunc(ctx, d.pool, f))
}

// Reading is a statement and the list that receives its rows.
type Reading struct {
	step Step
	read func(pgx.Rows) error
}

// Into returns a Reading of a statement into a list. The columns and the fields of T must match
// exactly.
func Into[T any](list *[]T, st Step) Reading {
	return Reading{st, func(rows pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	}}
}

// Only returns a Reading of a statement whose rows are not needed, such as a statement that locks a row.
func Only(st Step) Reading {
	return Reading{st, func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}}
}

// Read runs the statements in one round trip and one transaction, and reads their rows.
func (d *DB) Read(ctx context.Context, op string, readings ...Reading) error {
	var batch pgx.Batch
	for _, r := range readings {
		sql, args, err := d.bound(r.step)
		if err != nil {
			return Failure(op, err)
		}
		batch.Queue(sql, args...).Query(r.read)
	}
	return d.failed(op, d.pool.SendBatch(ctx, &batch).Close())
}

// EachRow visits every row of a table as a JSON object, with bytes in hexadecimal. It builds the
// statement itself, because a table name cannot be a parameter. It holds one row at a time. row
// is valid until visit returns; an error of visit ends EachRow.
func (d *DB) EachRow(ctx context.Context, op, schema, table string, visit func(row []byte) error) error {
	rows, err := d.pool.Query(ctx, "SELECT row_to_json(r)::text FROM ONLY "+pgx.Identifier{schema, table}.Sanitize()+" r")
	if err != nil {
		return d.failed(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.RawValues()[0]); err != nil {
			return err
		}
	}
	return d.failed(op, rows.Err())
}
