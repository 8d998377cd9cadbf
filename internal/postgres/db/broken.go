package db

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// resetEvery bounds how often the pool is emptied: when a server goes, every statement that runs complains.
const resetEvery = time.Second

// failed is Failure for what the pool ran. A connection that broke is seldom the only one: a server that restarted has dropped them all,
// and each of the others would fail one more try of a step. So the idle ones are closed too.
func (d *DB) failed(op string, err error) error {
	if broke(err) && d.reset.allow(time.Now()) {
		d.pool.Reset()
	}
	return Failure(op, err)
}

// broke reports whether an open connection was lost. One that could not be made says nothing about the others.
func broke(err error) bool {
	var connect *pgconn.ConnectError
	if err == nil || errors.As(err, &connect) {
		return false
	}
	switch state, _ := classify(err); state {
	case "connection", "57P01", "57P02": // admin_shutdown, crash_shutdown
		return true
	default:
		return false
	}
}

// rate allows something once every resetEvery.
type rate struct{ last atomic.Int64 }

func (r *rate) allow(now time.Time) bool {
	last := r.last.Load()
	return now.UnixNano()-last >= resetEvery.Nanoseconds() && r.last.CompareAndSwap(last, now.UnixNano())
}
