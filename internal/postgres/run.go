package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// step is a query with its values.
type step struct {
	query  string
	values named
}

func (s *Store) bound(st step) (sql string, args []any, err error) {
	q, ok := s.queries[st.query]
	if !ok {
		return "", nil, fmt.Errorf("there is no query %s", st.query)
	}
	args, err = q.bind(st.values)
	return q.sql, args, err
}

// exec runs one statement for its effect and returns how many rows it touched.
func (s *Store) exec(ctx context.Context, op string, st step) (int64, error) {
	sql, args, err := s.bound(st)
	if err != nil {
		return 0, failure(op, err)
	}
	tag, err := s.pool.Exec(ctx, sql, args...)
	return tag.RowsAffected(), s.failed(op, err)
}

// execAll runs the statements one after another in one transaction, for their effect.
func (s *Store) execAll(ctx context.Context, op string, steps ...step) error {
	return s.failed(op, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, st := range steps {
			sql, args, err := s.bound(st)
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

// all runs one statement and returns its rows. Columns and fields of T must match, both ways.
func all[T any](ctx context.Context, s *Store, op string, st step) ([]T, error) {
	sql, args, err := s.bound(st)
	if err != nil {
		return nil, failure(op, err)
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.failed(op, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return found, s.failed(op, err)
}

// first is all for a statement of at most one row.
func first[T any](ctx context.Context, s *Store, op string, st step) (row T, found bool, err error) {
	rows, err := all[T](ctx, s, op, st)
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// batched runs the statements in one round trip and one transaction, and returns the row of the last one.
func batched[T any](ctx context.Context, s *Store, op string, steps ...step) (row T, found bool, err error) {
	row, found, err = sent[T](ctx, s, s.pool, steps...)
	return row, found, s.failed(op, err)
}

// sender is a pool, or a transaction.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// sent is batched within to, with the error as it is.
func sent[T any](ctx context.Context, s *Store, to sender, steps ...step) (row T, found bool, err error) {
	var batch pgx.Batch
	for i, st := range steps {
		sql, args, err := s.bound(st)
		if err != nil {
			return row, false, err
		}
		queued := batch.Queue(sql, args...)
		if i < len(steps)-1 {
			continue
		}
		queued.Query(func(rows pgx.Rows) error {
			all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
			if len(all) > 0 {
				row, found = all[0], true
			}
			return err
		})
	}
	err = to.SendBatch(ctx, &batch).Close()
	return row, found, err
}

// locked is batched with the lock on the invocation ahead.
func locked[T any](ctx context.Context, s *Store, op, invocationID string, steps ...step) (row T, found bool, err error) {
	lock := step{"LockInvocation", named{"invocation_id": invocationID}}
	return batched[T](ctx, s, op, append([]step{lock}, steps...)...)
}
