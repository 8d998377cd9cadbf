package outbox

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// noticePoll is the interval between two queries for new notices. A query is enough, because a
	// delay of one second does not matter to people. The alternative would be a database
	// notification for every approval request.
	noticePoll = time.Second
	// A batch of noticeBatch notices takes at most noticeBatch / noticeSenders times
	// noticeTimeout. This must be less than noticeLease.
	noticeBatch   = 32
	noticeSenders = 4
	noticeTimeout = 10 * time.Second
	noticeLease   = 2 * time.Minute
	// noticeRetryFirst is the delay before a notice is sent again. Each try doubles the delay, up to noticeRetryMost.
	noticeRetryFirst = time.Second
	noticeRetryMost  = 5 * time.Minute
	// noticeLife is how long delivery of a notice is tried. An older notice is outdated.
	noticeLife = 24 * time.Hour
	// noticeKeep is how long a notice is kept as evidence.
	noticeKeep = 7 * 24 * time.Hour
)

// Notifier informs people or other programs about events of approval requests. Notify has ten
// seconds. It may receive a notice more than once, with the same ID. After an error it receives
// the notice again later.
type Notifier interface {
	Notify(ctx context.Context, n toolspec.Notice) error
}

// Notices creates the reminders and escalations that are due, and delivers all notices of
// approval requests to the notifiers, at least once each. Any number of Notices may run on one
// database. Notices without notifiers only creates reminders and escalations. Notices with
// notifiers schedules deliveries for its own notifiers and for notifiers that other workers had
// within a day.
type Notices struct {
	queue[noticeRow]

	notifiers map[string]Notifier
}

// NewNotices returns Notices for the notifiers, by name; the map may be empty. Run starts it.
// The record identifies a notifier by its name. A renamed notifier does not receive old notices
// again, because only new notices are scheduled for it.
func NewNotices(d *db.DB, notifiers map[string]Notifier, log *slog.Logger) *Notices {
	return &Notices{notifiers: notifiers, queue: queue[noticeRow]{
		db: d.With(files), log: log, name: "notices", poll: noticePoll, batch: noticeBatch, senders: noticeSenders,
		retryFirst: noticeRetryFirst, retryMost: noticeRetryMost, prune: db.Query("PruneNotices", db.Values{"keep": noticeKeep}),
	}}
}

// Poll sets the interval at which Run looks for notices. The default is one second.
func (n *Notices) Poll(every time.Duration) *Notices {
	n.poll = every
	return n
}

// Run creates and delivers notices until ctx ends, and then returns ctx's error. It retries a
// database or a notifier that does not answer; such a notifier does not delay other notifiers.
func (n *Notices) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	defer loops.Wait()
	wake := wakers{}
	for name, to := range n.notifiers {
		woken := make(chan struct{}, 1)
		wake[name] = woken
		take := db.Query("TakeNotices", db.Values{"notifier": name, "lease": noticeLease, "batch": noticeBatch})
		loops.Go(func() {
			every(ctx, n.poll, woken, func() { n.drain(ctx, take, func(r noticeRow) { n.send(ctx, name, to, r) }) })
		})
	}
	loops.Go(func() { every(ctx, pruneEvery, nil, func() { n.Prune(ctx) }) })
	every(ctx, n.poll, nil, func() {
		if n.look(ctx) {
			wake.wake("")
		}
	})
	return ctx.Err()
}

// look creates the reminders and escalations that are due, and schedules the delivery of each new
// notice to each notifier. fresh is true if it found a reminder, an escalation or a new notice.
func (n *Notices) look(ctx context.Context) (fresh bool) {
	steps := []db.Step{db.Query("HappenNotices", db.Values{"batch": noticeBatch})}
	if len(n.notifiers) > 0 {
		names := slices.Sorted(maps.Keys(n.notifiers))
		steps = append(steps, db.Query("SpreadNotices", db.Values{"life": noticeLife, "batch": noticeBatch, "notifiers": names}))
	}
	for _, st := range steps {
		for looked := int64(noticeBatch); looked == noticeBatch && ctx.Err() == nil; {
			takeCtx, cancel := context.WithTimeout(ctx, takeTimeout)
			row, _, err := db.First[lookedRow](takeCtx, n.db, "look for notices", st)
			cancel()
			if looked = row.Looked; err != nil {
				n.logError(ctx, "what is due cannot be found", err)
				return fresh
			}
			fresh = fresh || looked > 0
		}
	}
	return fresh
}

// send sends one notice and records the result.
func (n *Notices) send(ctx context.Context, name string, to Notifier, r noticeRow) {
	notice, err := r.notice()
	if err == nil {
		err = notify(ctx, to, notice)
	}
	noteCtx, cancel := noteContext(ctx)
	defer cancel()
	if err == nil {
		if _, err := n.db.Exec(noteCtx, "note a notice", db.Query("MarkNoticeSent", db.Values{"notice_id": r.NoticeID, "notifier": name})); err != nil {
			n.logError(ctx, "a delivery was not noted, so the notice is sent again", err)
		}
		return
	}
	row, _, noteErr := db.First[givenUpRow](noteCtx, n.db, "note a notice", db.Query("MarkNoticeFailed", db.Values{
		"notice_id": r.NoticeID, "notifier": name, "last_error": db.Text(errs.Reason(err)), "delay": n.delay(r.Attempts), "life": noticeLife,
	}))
	switch {
	case noteErr != nil:
		n.logError(ctx, "a failure was not noted", noteErr)
	case row.GivenUp:
		n.log.ErrorContext(ctx, "notices: one was given up", "notifier", name, "notice", r.NoticeID, "attempts", r.Attempts, "reason", errs.Reason(err))
	case ctx.Err() == nil:
		n.log.WarnContext(ctx, "notices: one was not delivered", "notifier", name, "notice", r.NoticeID, "attempts", r.Attempts, "reason", errs.Reason(err))
	}
}

// notify calls a notifier. It bounds the call's time and turns a panic into an error, so that user
// code cannot end the worker.
func notify(ctx context.Context, to Notifier, n toolspec.Notice) (err error) {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = panicked{}
		}
	}()
	return to.Notify(ctx, n)
}

// panicked is the error of a notifier that panicked.
type panicked struct{}

// Error does not contain the value of the panic.
func (panicked) Error() string { return "the notifier panicked" }

// LogReason returns a word for logs.
func (panicked) LogReason() string { return "panic" }
