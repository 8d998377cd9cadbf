package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// takeTimeout bounds one read of a queue. Without it, a connection whose peer has vanished
	// would block the queue until the kernel gives the connection up.
	takeTimeout = 10 * time.Second
	// noteTimeout bounds the writing of the result of one delivery.
	noteTimeout  = 10 * time.Second
	pruneEvery   = time.Hour
	pruneTimeout = time.Minute
)

// queue delivers the rows R of a table, at least once each. It takes a row for a limited time, the
// lease: if it does not record the result within this time, any process can take the row again.
// Several processes may deliver the rows of one table: only one of them has a row at a time.
type queue[R any] struct {
	db  *db.DB
	log *slog.Logger
	// name is the first word of all log messages.
	name string
	poll time.Duration
	// batch bounds the rows of one query, senders bounds the rows that are sent at the same time.
	// batch / senders rounds of deliveries must fit into the lease.
	batch, senders int
	// retryFirst is the delay before a row is sent again. Each try doubles the delay, up to retryMost.
	retryFirst, retryMost time.Duration
	// prune deletes old rows.
	prune db.Step
	// lock, if not nil, is a statement that runs before each read of the queue, in the same transaction.
	lock *db.Step
}

// drain takes rows with the statement take and calls deliver for each row, until no row is due.
func (q *queue[R]) drain(ctx context.Context, take db.Step, deliver func(R)) {
	for ctx.Err() == nil {
		takeCtx, cancel := context.WithTimeout(ctx, takeTimeout)
		rows, err := q.take(takeCtx, take)
		cancel()
		if err != nil {
			q.logError(ctx, "cannot be read", err)
			return
		}
		slots := make(chan struct{}, q.senders)
		var sending sync.WaitGroup
		for _, r := range rows {
			slots <- struct{}{}
			sending.Go(func() {
				deliver(r)
				<-slots
			})
		}
		sending.Wait()
		if len(rows) < q.batch {
			return
		}
	}
}

// take takes rows.
func (q *queue[R]) take(ctx context.Context, take db.Step) (rows []R, err error) {
	op := "take " + q.name
	if q.lock == nil {
		return db.All[R](ctx, q.db, op, take)
	}
	err = q.db.Read(ctx, op, db.Only(*q.lock), db.Into(&rows, take))
	return rows, err
}

// noteContext returns a context for recording the result of a delivery. It does not end when ctx
// ends: without the record, the row would be sent again.
func noteContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
}

// delay returns how long to wait after the failed attempt with this number, from 1.
func (q *queue[R]) delay(attempts int) time.Duration {
	return min(q.retryFirst<<min(attempts-1, 10), q.retryMost)
}

// Prune deletes old rows. Run calls it every hour.
func (q *queue[R]) Prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pruneTimeout)
	defer cancel()
	if _, err := q.db.Exec(ctx, "prune "+q.name, q.prune); err != nil {
		q.logError(ctx, "old rows were not pruned", err)
	}
}

// logError logs an error, unless ctx has ended because the queue stops.
func (q *queue[R]) logError(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		q.log.WarnContext(ctx, q.name+": "+what, "reason", errs.Reason(err)) //nolint:sloglint // the callers' messages are constants
	}
}

// every calls f at once, then at each tick of pace and at each wake-up, until ctx ends.
func every(ctx context.Context, pace time.Duration, woken <-chan struct{}, f func()) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-tick.C:
		}
	}
}
