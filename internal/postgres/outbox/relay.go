package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// relayPoll is the longest delay of a message if its database notification was lost.
	relayPoll = time.Second
	// relayLease is the time after which a message that was taken can be taken again. It is
	// longer than a whole batch may take.
	relayLease = time.Minute
	relayBatch = 32
	// policyPoll is the longest delay before OnPolicy's function runs if a database notification
	// was lost.
	policyPoll = time.Minute
	// relaySenders bounds the messages that are sent concurrently.
	relaySenders = 8
	// takeTimeout bounds one read of the outbox. Without it, a connection whose peer has
	// vanished would block the relay until the kernel gives the connection up.
	takeTimeout = 10 * time.Second
	// sendTimeout bounds the sending of one message. relayBatch / relaySenders rounds of it fit
	// into relayLease.
	sendTimeout = 10 * time.Second
	// The first delay before a message is sent again, doubled by each try, and its maximum.
	retryFirst = time.Second
	retryMost  = time.Minute
	// Sent messages are kept as evidence for pruneKeep.
	pruneEvery = time.Hour
	pruneKeep  = 7 * 24 * time.Hour
)

// ErrGone means that the receiver does not exist any more. The message is not sent again.
var ErrGone = errors.New("the receiver is gone")

// Message is a message of the outbox.
type Message struct {
	// ID is the same each time the message is sent.
	ID         int64
	Kind       string
	WorkflowID string
	Signal     string
	Payload    json.RawMessage
	// Attempts counts from 1.
	Attempts int
}

// Sender delivers a message. It may receive a message more than once. ErrGone ends the delivery;
// after any other error Send is called again later.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Relay sends the messages of the outbox, at least once each. Any number of relays may run on
// one database.
type Relay struct {
	db     *db.DB
	scans  Scanner
	sender Sender
	log    *slog.Logger
	poll   time.Duration
	// policy, if not nil, is called when the active policy may have changed.
	policy func(context.Context)
}

// Scanner sends a recheck to calls that were admitted while a change was made.
type Scanner interface {
	// RecheckAgain runs a batch of the scans that are due. more reports whether more scans may
	// be due.
	RecheckAgain(ctx context.Context) (more bool, err error)
}

// NewRelay returns a relay. Run starts it.
func NewRelay(d *db.DB, scans Scanner, sender Sender, log *slog.Logger) *Relay {
	return &Relay{db: d.With(files), scans: scans, sender: sender, log: log, poll: relayPoll}
}

// Poll sets the interval at which the relay looks for messages. The default is one second.
func (r *Relay) Poll(every time.Duration) *Relay {
	r.poll = every
	return r
}

// OnPolicy makes the relay call f whenever the active policy may have changed. The notifications
// arrive on the connection on which the relay listens. The relay also calls f each time it
// establishes that connection, and once a minute. It never calls f concurrently. A notification
// can be late, so do not rely on f to judge a call.
func (r *Relay) OnPolicy(f func(context.Context)) *Relay {
	r.policy = f
	return r
}

// Run sends messages until ctx ends, and then returns ctx's error. It retries while the database
// does not answer.
func (r *Relay) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	wanted := ears{outboxChannel: wake}
	var listening sync.WaitGroup
	if r.policy != nil {
		moved := make(chan struct{}, 1)
		wanted[policyChannel] = moved
		listening.Go(func() { r.follow(ctx, moved) })
	}
	listening.Go(func() { r.listen(ctx, wanted) })
	defer listening.Wait()
	poll, prune := time.NewTicker(r.poll), time.NewTicker(pruneEvery)
	defer poll.Stop()
	defer prune.Stop()
	for {
		r.drain(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-poll.C:
			r.recheckAgain(ctx)
		case <-prune.C:
			r.Prune(ctx)
		}
	}
}

// follow calls policy at each notification and at each tick of policyPoll.
func (r *Relay) follow(ctx context.Context, moved <-chan struct{}) {
	poll := time.NewTicker(policyPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-moved:
		case <-poll.C:
		}
		r.policy(ctx)
	}
}

// drain sends messages until no message is due.
func (r *Relay) drain(ctx context.Context) {
	for ctx.Err() == nil {
		takeCtx, cancel := context.WithTimeout(ctx, takeTimeout)
		messages, err := db.All[Message](takeCtx, r.db, "take messages", db.Query("TakeMessages", db.Values{"lease": relayLease, "batch": relayBatch}))
		cancel()
		if err != nil {
			r.complain(ctx, "outbox: cannot be read", err)
			return
		}
		slots := make(chan struct{}, relaySenders)
		var sending sync.WaitGroup
		for _, m := range messages {
			slots <- struct{}{}
			sending.Go(func() {
				r.send(ctx, m)
				<-slots
			})
		}
		sending.Wait()
		if len(messages) < relayBatch {
			return
		}
	}
}

// recheckAgain lets the Scanner run the scans that are due. It returns when no scan is due.
func (r *Relay) recheckAgain(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		scanCtx, cancel := context.WithTimeout(ctx, takeTimeout)
		more, err = r.scans.RecheckAgain(scanCtx)
		cancel()
		if err != nil {
			r.complain(ctx, "outbox: calls cannot be told to look again", err)
			return
		}
	}
}

// Prune deletes messages that were sent more than pruneKeep ago. Run calls it every hour.
func (r *Relay) Prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, relayLease)
	defer cancel()
	if _, err := r.db.Exec(ctx, "prune outbox", db.Query("PruneOutbox", db.Values{"keep": pruneKeep})); err != nil {
		r.complain(ctx, "outbox: sent messages were not pruned", err)
	}
}

func (r *Relay) send(ctx context.Context, m Message) {
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	err := r.sender.Send(sendCtx, m)
	cancel()
	// The message is sent. Record that even while the relay stops; otherwise the message is sent
	// again.
	noteCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	note := db.Query("MarkSent", db.Values{"id": m.ID, "last_error": ""})
	switch {
	case errors.Is(err, ErrGone):
		note = db.Query("MarkSent", db.Values{"id": m.ID, "last_error": "gone"})
	case err != nil:
		delay := min(retryFirst<<min(m.Attempts-1, 10), retryMost)
		note = db.Query("MarkFailed", db.Values{"id": m.ID, "last_error": db.Text(errs.Reason(err)), "delay": delay})
		r.complain(ctx, "outbox: a message was not delivered", err)
	}
	if _, err := r.db.Exec(noteCtx, "note delivery", note); err != nil {
		r.complain(ctx, "outbox: a delivery was not noted, so the message is sent again", err)
	}
}

// complain logs an error, unless the relay is stopping.
func (r *Relay) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, what, "reason", errs.Reason(err)) //nolint:sloglint // the callers' messages are constants
	}
}
