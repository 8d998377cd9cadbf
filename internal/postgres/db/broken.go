package db

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// resetEvery bounds how often the pool is reset. When a server stops, every running statement
// fails and asks for a reset.
const resetEvery = time.Second

// failed returns the same error as Failure, for an error of the pool. If err says that a connection
// broke, failed also closes the idle connections of the pool: a server that restarts drops all
// connections, and each of them would make another try of a statement fail.
func (d *DB) failed(op string, err error) error {
	if broke(err) && d.reset.allow(time.Now()) {
		d.pool.Reset()
	}
	return Failure(op, err)
}

// broke reports whether an established connection was lost. A failure to connect says nothing
// about other connections.
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

// rate allows an action once every resetEvery.
type rate struct{ last atomic.Int64 }

func (r *rate) allow(now time.Time) bool {
	last := r.last.Load()
	return now.UnixNano()-last >= resetEvery.Nanoseconds() && r.last.CompareAndSwap(last, now.UnixNano())
}
