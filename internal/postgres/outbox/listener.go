package outbox

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// wakers holds the Go channels to wake, by the database channel that they listen on.
type wakers map[string]chan<- struct{}

const (
	outboxChannel = "pawl_outbox"
	policyChannel = "pawl_policy"
	toolsChannel  = "pawl_tools"
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
	r.db.Listen(ctx, db.Listener{
		Connected: func() { w.wake("") },
		Notified:  func(n *pgconn.Notification) { w.wake(n.Channel) },
		Lost:      func(err error) { r.logError(ctx, "the listener lost its connection", db.Failure("listen", err)) },
	}, db.Query("ListenPolicy", db.Values{}), db.Query("ListenTools", db.Values{}), db.Query("ListenOutbox", db.Values{}))
}
