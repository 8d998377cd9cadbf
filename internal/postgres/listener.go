package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// listenQuiet is how long nothing may come before the connection is tried: a peer that vanished says nothing.
	listenQuiet = time.Minute
	pingTimeout = 5 * time.Second
	// The delay before the next connection.
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 10 * time.Second
)

// listen keeps a connection of its own on the outbox's channel and wakes whoever waits. While it has none, polling must do.
func (r *Relay) listen(ctx context.Context, wake chan<- struct{}) {
	delay := reconnectFirst
	for {
		err := r.listenOnce(ctx, wake, func() { delay = reconnectFirst })
		if ctx.Err() != nil {
			return
		}
		r.complain(ctx, "outbox: the listener lost its connection", failure("listen", err))
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

func (r *Relay) listenOnce(ctx context.Context, wake chan<- struct{}, connected func()) error {
	conn, err := pgx.ConnectConfig(ctx, r.store.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
		defer cancel()
		_ = conn.Close(ctx) // it is of no use any more, whatever it says
	}()
	sql, _, err := r.store.bound(step{"ListenOutbox", named{}})
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sql); err != nil {
		return err
	}
	connected()
	for {
		// Also right after connecting: something may have come while nobody listened.
		select {
		case wake <- struct{}{}:
		default:
		}
		if err := r.heard(ctx, conn); err != nil {
			return err
		}
	}
}

// heard waits for a notification.
func (r *Relay) heard(ctx context.Context, conn *pgx.Conn) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, listenQuiet)
		_, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		ping, cancel := context.WithTimeout(ctx, pingTimeout)
		err = conn.Ping(ping)
		cancel()
		if err != nil {
			return err
		}
	}
}
