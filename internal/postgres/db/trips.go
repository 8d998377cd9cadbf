package db

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Trace is called before a round trip with the name of its statement, or of the last statement of its
// batch. It returns the context of the round trip, and a function that is called at its end. The name
// is "" for SQL of the driver and of migrations. Calls are concurrent.
type Trace func(ctx context.Context, statement string) (traced context.Context, end func(error))

// trips observes every round trip of the pool: a statement or a batch. It does not observe the
// preparation of a statement, which happens once per connection.
type trips struct {
	count func(context.Context)
	trace Trace
	// names has the names of statements by their SQL.
	names *sync.Map
}

type tripKey struct{}

func (t trips) begin(ctx context.Context, sql string) context.Context {
	if t.count != nil {
		t.count(ctx)
	}
	if t.trace == nil {
		return ctx
	}
	name, _ := t.names.Load(sql)
	statement, _ := name.(string)
	traced, end := t.trace(ctx, statement)
	return context.WithValue(traced, tripKey{}, end)
}

func (t trips) end(ctx context.Context, err error) {
	if t.trace == nil {
		return
	}
	if end, ok := ctx.Value(tripKey{}).(func(error)); ok {
		end(err)
	}
}

// TraceQueryStart observes a statement.
func (t trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return t.begin(ctx, d.SQL)
}

// TraceQueryEnd observes the end of a statement.
func (t trips) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	t.end(ctx, d.Err)
}

// TraceBatchStart observes a batch.
func (t trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var sql string
	if d.Batch != nil && len(d.Batch.QueuedQueries) > 0 {
		sql = d.Batch.QueuedQueries[len(d.Batch.QueuedQueries)-1].SQL
	}
	return t.begin(ctx, sql)
}

// TraceBatchQuery does nothing: the statements of a batch share one round trip.
func (trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd observes the end of a batch.
func (t trips) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) {
	t.end(ctx, d.Err)
}
