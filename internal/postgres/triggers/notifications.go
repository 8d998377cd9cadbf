package triggers

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// channelsEvery is the interval at which a worker looks for new channels, and tests its connection.
	channelsEvery = 2 * time.Second
	// maxHeld bounds the notifications that a worker holds in memory.
	maxHeld = 256
	// queueTimeout bounds the statements that queue notifications. Notifications that a worker holds when it stops are queued within this time, or lost.
	queueTimeout = 10 * time.Second
	// stalledAfter is how long a worker reads no notification because it holds maxHeld of them that it cannot queue. Then it closes its connection:
	// the server of the other database keeps the unread notifications of a session, and when they are too many, every NOTIFY there fails.
	stalledAfter = 30 * time.Second
	// againFirst is the delay before a failed step is tried again. Each failure doubles the delay, up to againMost.
	againFirst = 100 * time.Millisecond
	againMost  = 10 * time.Second
)

// errStalled means that the notifications that a worker holds cannot be queued.
var errStalled = errors.New("the database of Pawl does not take the notifications")

// Notifications queues the notifications of another database as events of the triggers that take them. Any number of Notifications may listen: each
// event is queued once. Notifications that are sent while nobody listens are lost.
type Notifications struct {
	store          *Store
	url, namespace string
	log            *slog.Logger
}

// NewNotifications returns Notifications of the database at url, for the workers of a Temporal namespace. Run starts it.
func (s *Store) NewNotifications(url, namespace string, log *slog.Logger) *Notifications {
	return &Notifications{store: s, url: url, namespace: namespace, log: log}
}

// Run queues notifications until ctx ends, and then returns ctx's error. It connects again while a database does not answer.
func (n *Notifications) Run(ctx context.Context) error {
	held := make(chan *pgconn.Notification, maxHeld)
	var queueing sync.WaitGroup
	queueing.Go(func() { n.queueHeld(ctx, held) })
	defer queueing.Wait()
	defer close(held)
	for delay := againFirst; ; delay = min(2*delay, againMost) {
		err := n.listen(ctx, held, func() { delay = againFirst })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.log.WarnContext(ctx, "notifications for triggers are lost until the worker listens again", "reason", reasonOf(err))
		db.Pause(ctx, delay)
	}
}

// reasonOf returns the part of an error of listen that may be logged.
func reasonOf(err error) string {
	if errors.Is(err, errStalled) || errors.Is(err, db.ErrOtherPooler) {
		return err.Error()
	}
	return errs.Reason(db.Failure("listen", err))
}

// listen follows the channels of the active triggers on one connection, until it fails or ctx ends, and sends their notifications to held. It calls
// connected each time that the connection has followed the channels.
func (n *Notifications) listen(ctx context.Context, held chan<- *pgconn.Notification, connected func()) error {
	conn, err := db.Outside(ctx, "PAWL_TRIGGER_DATABASE_URL", n.url, "pawl-triggers")
	if err != nil {
		return err
	}
	defer db.Disconnect(ctx, conn)
	follows := map[string]bool{}
	for {
		if err := n.follow(ctx, conn, follows); err != nil {
			return err
		}
		connected()
		if err := receive(ctx, conn, held); err != nil {
			return err
		}
	}
}

// follow makes a connection listen on the channels of the active triggers, and on no other channel.
func (n *Notifications) follow(ctx context.Context, conn *pgx.Conn, follows map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	rows, err := db.All[channelRow](ctx, n.store.db, "channels of triggers", db.Query("TriggerChannels", db.Values{"max": db.MaxList}))
	if err != nil {
		n.log.WarnContext(ctx, "the channels of triggers cannot be read", "reason", errs.Reason(err))
		return conn.Ping(ctx) // it follows the channels that it knows
	}
	wanted := map[string]bool{}
	for _, row := range rows {
		wanted[row.Channel] = true
		if follows[row.Channel] {
			continue
		}
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{row.Channel}.Sanitize()); err != nil {
			return err
		}
		follows[row.Channel] = true
	}
	for channel := range follows {
		if wanted[channel] {
			continue
		}
		if _, err := conn.Exec(ctx, "UNLISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
		delete(follows, channel)
	}
	return conn.Ping(ctx)
}

// receive sends the notifications of conn to held, until it is time to look for new channels.
func receive(ctx context.Context, conn *pgx.Conn, held chan<- *pgconn.Notification) error {
	until, cancel := context.WithTimeout(ctx, channelsEvery)
	defer cancel()
	for {
		notification, err := conn.WaitForNotification(until)
		switch {
		case err == nil:
		case ctx.Err() == nil && until.Err() != nil && !conn.IsClosed():
			return nil
		default:
			return err
		}
		select {
		case held <- notification:
		case <-time.After(stalledAfter):
			return errStalled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// queueHeld writes the notifications of held as events of triggers, until held is closed. All writes end within queueTimeout after ctx.
func (n *Notifications) queueHeld(ctx context.Context, held <-chan *pgconn.Notification) {
	writes, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(queueTimeout, cancel) })
	for first := range held {
		payloads := map[string][]string{first.Channel: {first.Payload}}
		for range len(held) {
			next := <-held // no other goroutine receives
			payloads[next.Channel] = append(payloads[next.Channel], next.Payload)
		}
		for channel, sent := range payloads {
			n.queueChannel(ctx, writes, channel, sent)
		}
	}
}

// queueChannel writes the notifications of a channel as events. It repeats a write that fails until ctx ends, and then once
// more. Notifications that are not written then are lost. The writes run with the context writes.
func (n *Notifications) queueChannel(ctx, writes context.Context, channel string, sent []string) {
	for delay := againFirst; ; delay = min(2*delay, againMost) {
		isLast := ctx.Err() != nil
		queueCtx, cancel := context.WithTimeout(writes, queueTimeout)
		err := n.queueNotified(queueCtx, channel, sent)
		cancel()
		if err == nil {
			return
		}
		n.log.WarnContext(ctx, "notifications for triggers are not queued yet", "count", len(sent), "reason", errs.Reason(err))
		if isLast {
			return
		}
		db.Pause(ctx, delay)
	}
}
