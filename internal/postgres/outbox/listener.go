package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

const (
	// listenQuiet is how long nothing may come before the connection is tried: a peer that vanished says nothing.
	listenQuiet = time.Minute
	pingTimeout = 5 * time.Second
	// The delay before the next connection.
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 10 * time.Second
)

// ears are who wants to be woken, by the channel of the database that they listen on.
type ears map[string]chan<- struct{}

const (
	outboxChannel = "pawl_outbox"
	policyChannel = "pawl_policy"
)

// wake wakes who listens on a channel, or everybody for none. Who has not gone on since the last time is awake.
func (e ears) wake(channel string) {
	for name, ear := range e {
		if channel != "" && channel != name {
			continue
		}
		select {
		case ear <- struct{}{}:
		default:
		}
	}
}

// listen keeps a connection of its own on the channels and wakes whoever waits. While it has none, polling must do.
func (r *Relay) listen(ctx context.Context, e ears) {
	delay := reconnectFirst
	for {
		err := r.listenOnce(ctx, e, func() { delay = reconnectFirst })
		if ctx.Err() != nil {
			return
		}
		r.complain(ctx, "outbox: the listener lost its connection", db.Failure("listen", err))
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

func (r *Relay) listenOnce(ctx context.Context, e ears, connected func()) error {
	conn, err := r.db.Connect(ctx, db.Query("ListenPolicy", db.Values{}), db.Query("ListenOutbox", db.Values{}))
	if err != nil {
		return err
	}
	defer db.Disconnect(ctx, conn)
	connected()
	e.wake("") // something may have come while nobody listened
	for {
		channel, err := r.heard(ctx, conn)
		if err != nil {
			return err
		}
		e.wake(channel)
	}
}

// heard waits for a notification and returns its channel.
func (r *Relay) heard(ctx context.Context, conn *pgx.Conn) (string, error) {
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
