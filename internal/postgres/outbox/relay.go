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
	relayLease = 90 * time.Second
	relayBatch = 32
	// policyPoll is how long after a change of the active policy the function of OnPolicy runs at the
	// latest, if the database notification was lost.
	policyPoll = time.Minute
	// relaySenders bounds the messages that are sent concurrently.
	relaySenders = 8
	// sendTimeout bounds the sending of one message. relayBatch / relaySenders rounds of it and of noteTimeout fit into
	// relayLease.
	sendTimeout = 10 * time.Second
	// retryFirst is the delay before a message is sent again. Each try doubles the delay, up to retryMost.
	retryFirst = time.Second
	retryMost  = time.Minute
	// pruneKeep is how long sent messages are kept as evidence.
	pruneKeep = 7 * 24 * time.Hour
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

// Relay sends the messages of the outbox to the calls of a namespace, at least once each. Any number of relays may run on
// one database.
type Relay struct {
	queue[Message]

	namespace string
	scans     Scanner
	sender    Sender
	// policy, if not nil, is called when the active policy may have changed.
	policy func(context.Context)
	// tools, if not nil, gets a value when registered tools may have changed.
	tools chan<- struct{}
}

// Scanner sends a recheck to calls that were admitted while a change was made.
type Scanner interface {
	// RecheckAgain runs a batch of the scans that are due. more reports whether more scans may
	// be due.
	RecheckAgain(ctx context.Context) (more bool, err error)
}

// NewRelay returns a relay for the calls of a Temporal namespace. Run starts it.
func NewRelay(d *db.DB, namespace string, scans Scanner, sender Sender, log *slog.Logger) *Relay {
	return &Relay{namespace: namespace, scans: scans, sender: sender, queue: queue[Message]{
		db: d.With(files), log: log, name: "outbox", poll: relayPoll, batch: relayBatch, senders: relaySenders,
		retryFirst: retryFirst, retryMost: retryMost, prune: db.Query("PruneOutbox", db.Values{"keep": pruneKeep}),
	}}
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

// OnTools makes the relay send a value to moved whenever registered tools may have changed, and each time it
// establishes the connection on which it listens. While moved holds a value, the relay sends no second value. moved
// must have a capacity of 1.
func (r *Relay) OnTools(moved chan<- struct{}) *Relay {
	r.tools = moved
	return r
}

// Run sends messages until ctx ends, and then returns ctx's error. It retries while the database
// does not answer.
func (r *Relay) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	wanted := wakers{outboxChannel: wake}
	var listening sync.WaitGroup
	if r.policy != nil {
		moved := make(chan struct{}, 1)
		wanted[policyChannel] = moved
		listening.Go(func() { r.followPolicy(ctx, moved) })
	}
	if r.tools != nil {
		wanted[toolsChannel] = r.tools
	}
	listening.Go(func() { r.listen(ctx, wanted) })
	defer listening.Wait()
	poll, prune := time.NewTicker(r.poll), time.NewTicker(pruneEvery)
	defer poll.Stop()
	defer prune.Stop()
	take := db.Query("TakeMessages", db.Values{"namespace": db.Text(r.namespace), "lease": relayLease, "batch": relayBatch})
	for {
		r.drain(ctx, take, func(m Message) { r.send(ctx, m) })
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

// followPolicy calls r.policy at each notification and at each tick of policyPoll.
func (r *Relay) followPolicy(ctx context.Context, moved <-chan struct{}) {
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

// recheckAgain lets the Scanner run the scans that are due. It returns when no scan is due.
func (r *Relay) recheckAgain(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		scanCtx, cancel := context.WithTimeout(ctx, takeTimeout)
		more, err = r.scans.RecheckAgain(scanCtx)
		cancel()
		if err != nil {
			r.logError(ctx, "rechecks were not sent", err)
			return
		}
	}
}

// send sends one message and records the result.
func (r *Relay) send(ctx context.Context, m Message) {
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	err := r.sender.Send(sendCtx, m)
	cancel()
	noteCtx, cancel := noteContext(ctx)
	defer cancel()
	note := db.Query("MarkSent", db.Values{"id": m.ID, "last_error": ""})
	switch {
	case errors.Is(err, ErrGone):
		note = db.Query("MarkSent", db.Values{"id": m.ID, "last_error": "gone"})
	case err != nil:
		note = db.Query("MarkFailed", db.Values{"id": m.ID, "last_error": db.Text(errs.Reason(err)), "delay": r.delay(m.Attempts)})
		r.logError(ctx, "a message was not delivered", err)
	}
	if _, err := r.db.Exec(noteCtx, "note delivery", note); err != nil {
		r.logError(ctx, "a delivery was not noted, so the message is sent again", err)
	}
}
