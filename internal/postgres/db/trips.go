package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// trips is called before every round trip of the pool: a statement or a batch. It is not called
// for the preparation of a statement, which happens once per connection.
type trips func(context.Context)

// TraceQueryStart counts a statement.
func (t trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t(ctx)
	return ctx
}

// TraceQueryEnd does nothing.
func (trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart counts a batch.
func (t trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t(ctx)
	return ctx
}

// TraceBatchQuery does nothing: the statements of a batch share one round trip.
func (trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
