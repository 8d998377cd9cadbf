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
	// relayPoll is how late a message is when its notification was lost.
	relayPoll = time.Second
	// relayLease is after what time a message that was taken is taken again. It is longer than a whole batch may take.
	relayLease = time.Minute
	relayBatch = 32
	// policyPoll is how late a change of policy is read ahead where its notification was lost.
	policyPoll = time.Minute
	// relaySenders bounds the messages that are on their way at once.
	relaySenders = 8
	// takeTimeout bounds one look into the outbox: a connection that died without a word would hold the relay for as long as the kernel
	// believes in it.
	takeTimeout = 10 * time.Second
	// sendTimeout bounds one of them: relayBatch / relaySenders rounds of it fit into the lease.
	sendTimeout = 10 * time.Second
	// The delay before a message is tried again, doubled by each try.
	retryFirst = time.Second
	retryMost  = time.Minute
	// Sent messages are evidence for a while.
	pruneEvery = time.Hour
	pruneKeep  = 7 * 24 * time.Hour
)

// ErrGone says that the receiver does not exist any more: the message is done.
var ErrGone = errors.New("the receiver is gone")

// Message is one to send.
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

// Sender delivers a message. A message may come more than once. ErrGone ends it; after any other error it comes again later.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Relay sends what the outbox holds, at least once each. Any number of relays may run on one database.
type Relay struct {
	db     *db.DB
	scans  Scanner
	sender Sender
	log    *slog.Logger
	poll   time.Duration
	// policy, if any, is called when the active policy may have changed.
	policy func(context.Context)
}

// Scanner tells calls to look again that were admitted while a change was made.
type Scanner interface {
	// RecheckAgain does a batch of the scans that are due. more reports whether there may be others.
	RecheckAgain(ctx context.Context) (more bool, err error)
}

// NewRelay makes a relay; Run starts it.
func NewRelay(d *db.DB, scans Scanner, sender Sender, log *slog.Logger) *Relay {
	return &Relay{db: d.With(files), scans: scans, sender: sender, log: log, poll: relayPoll}
}

// Poll sets the interval at which the relay looks for messages. The default is one second.
func (r *Relay) Poll(every time.Duration) *Relay {
	r.poll = every
	return r
}

// OnPolicy makes the relay call f whenever the active policy may have changed: it shares the connection on which the relay listens. f is
// called once that stands too, and never twice at once. Nobody may rely on it to judge a call: where there is no such connection, f is
// called once a minute.
func (r *Relay) OnPolicy(f func(context.Context)) *Relay {
	r.policy = f
	return r
}

// Run sends until ctx ends, which is its only way to return, with ctx's error. A database that is away is waited for.
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

// follow calls whoever wants to know of the policy.
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

// drain sends until nothing is due.
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

// recheckAgain does the second scans that are due.
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

// Prune drops messages that were sent long ago. Run does it every hour.
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
	// The message has left: that must be written even while the relay stops, or it leaves again.
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

// complain logs an error, unless it comes of stopping.
func (r *Relay) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, what, "reason", errs.Reason(err)) //nolint:sloglint // the callers' messages are constants
	}
}
