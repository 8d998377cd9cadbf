package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// listenQuiet is how long the connection may be idle before a ping tests it: a lost peer
	// sends no error.
	listenQuiet = time.Minute
	pingTimeout = 5 * time.Second
	// reconnectFirst is the delay before the first attempt to connect again. Each failure doubles the delay, up to reconnectMost.
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 10 * time.Second
)

// ErrNoNotifications means that a pooler keeps notifications away.
var ErrNoNotifications = errors.New("a connection pooler is in front of the database, so notifications do not arrive: set PAWL_DATABASE_DIRECT_URL to the address of the server itself")

// Listener handles what happens on the connection of Listen. Its functions must not block.
type Listener struct {
	// Connected is called after each connection: notifications may have been missed before it.
	Connected func()
	Notified  func(*pgconn.Notification)
	// Lost is called with the error of the driver that ended a connection, or that prevented it. It
	// may be nil.
	Lost func(error)
}

// Listen holds a connection outside the pool until ctx ends, runs the statements on it, and calls l
// for each notification. It replaces a lost connection. If Notifies is false, it only calls Lost, with
// ErrNoNotifications.
func (d *DB) Listen(ctx context.Context, l Listener, steps ...Step) {
	if !d.Notifies() {
		if l.Lost != nil {
			l.Lost(ErrNoNotifications)
		}
		<-ctx.Done()
		return
	}
	delay := reconnectFirst
	for ctx.Err() == nil {
		err := d.listenOnce(ctx, l, steps, func() { delay = reconnectFirst })
		if ctx.Err() != nil {
			return
		}
		if l.Lost != nil {
			l.Lost(err)
		}
		Pause(ctx, delay)
		delay = min(delay*2, reconnectMost)
	}
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (d *DB) listenOnce(ctx context.Context, l Listener, steps []Step, connected func()) error {
	conn, err := d.connect(ctx, steps...)
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	connected()
	l.Connected()
	for {
		notification, err := awaitNotification(ctx, conn)
		if err != nil {
			return err
		}
		l.Notified(notification)
	}
}

// awaitNotification waits for a notification. It tests an idle connection.
func awaitNotification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, listenQuiet)
		notification, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			return notification, nil
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
		ping, cancel := context.WithTimeout(ctx, pingTimeout)
		err = conn.Ping(ping)
		cancel()
		if err != nil {
			return nil, err
		}
	}
}

// connect opens a connection outside the pool and runs the statements on it. It returns the
// error of the driver.
func (d *DB) connect(ctx context.Context, steps ...Step) (conn *pgx.Conn, err error) {
	config := d.direct
	if config == nil {
		config = d.pool.Config().ConnConfig
	}
	if conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, err
	}
	for _, st := range steps {
		sql, args, err := d.bound(st)
		if err == nil {
			_, err = conn.Exec(ctx, sql, args...)
		}
		if err != nil {
			disconnect(ctx, conn)
			return nil, err
		}
	}
	return conn, nil
}

// closeTimeout bounds disconnect.
const closeTimeout = 5 * time.Second

// disconnect closes a connection, also if ctx has ended. It takes at most closeTimeout.
func disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx) // The connection is not used again, so its error does not matter.
}
