package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

const (
	// listenQuiet is how long the connection may be idle before a ping tests it: a lost peer
	// sends no error.
	listenQuiet = time.Minute
	pingTimeout = 5 * time.Second
	// The first delay before the next connection, doubled by each failure, and its maximum.
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 10 * time.Second
)

// wakers holds the Go channels to wake, by the database channel that they listen on.
type wakers map[string]chan<- struct{}

const (
	outboxChannel = "pawl_outbox"
	policyChannel = "pawl_policy"
)

// wake wakes the listener of a database channel, or all listeners if channel is empty. It does
// not block: a listener that has not yet handled the last wake-up needs no second one.
func (w wakers) wake(channel string) {
	for name, waker := range w {
		if channel != "" && channel != name {
			continue
		}
		select {
		case waker <- struct{}{}:
		default:
		}
	}
}

// listen holds its own connection, listens on the database channels and wakes the listeners.
// While it has no connection, only the polls wake them.
func (r *Relay) listen(ctx context.Context, w wakers) {
	delay := reconnectFirst
	for {
		err := r.listenOnce(ctx, w, func() { delay = reconnectFirst })
		if ctx.Err() != nil {
			return
		}
		r.complain(ctx, "the listener lost its connection", db.Failure("listen", err))
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		delay = min(delay*2, reconnectMost)
	}
}

func (r *Relay) listenOnce(ctx context.Context, w wakers, connected func()) error {
	conn, err := r.db.Connect(ctx, db.Query("ListenPolicy", db.Values{}), db.Query("ListenOutbox", db.Values{}))
	if err != nil {
		return err
	}
	defer db.Disconnect(ctx, conn)
	connected()
	w.wake("") // A notification may have been missed while there was no connection.
	for {
		channel, err := r.awaitNotification(ctx, conn)
		if err != nil {
			return err
		}
		w.wake(channel)
	}
}

// awaitNotification waits for a notification and returns its channel.
func (r *Relay) awaitNotification(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, listenQuiet)
		notification, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			return notification.Channel, nil
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return "", err
		}
		ping, cancel := context.WithTimeout(ctx, pingTimeout)
		err = conn.Ping(ping)
		cancel()
		if err != nil {
			return "", err
		}
	}
}
