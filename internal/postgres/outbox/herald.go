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
	// noticePoll is how late a notice is at the least busy of times. People do not notice, and a notification would cost every request one.
	noticePoll = time.Second
	// noticeBatch / noticeSenders rounds of noticeTimeout fit into the lease.
	noticeBatch   = 32
	noticeSenders = 4
	noticeTimeout = 10 * time.Second
	noticeLease   = 2 * time.Minute
	// The delay before a notice is tried again, doubled by each try.
	noticeRetryFirst = time.Second
	noticeRetryMost  = 5 * time.Minute
	// noticeLife is for how long a notice is tried: what is older is no news.
	noticeLife = 24 * time.Hour
	// noticeKeep is how long it is evidence.
	noticeKeep = 7 * 24 * time.Hour
)

// Notifier tells people or other programs what became of an approval request. A notice may come more than once, with the same ID; after an
// error it comes again later. It has ten seconds.
type Notifier interface {
	Notify(ctx context.Context, n toolspec.Notice) error
}

// Herald brings about what is due when a request has waited, and tells notifiers of it and of all that becomes of requests, at least once
// each. Any number of heralds may run on one database. One without notifiers tells nobody; any other takes notices for its own and for
// those that others have had within a day.
type Herald struct {
	db        *db.DB
	notifiers map[string]Notifier
	log       *slog.Logger
	poll      time.Duration
}

// NewHerald makes a herald for notifiers by their names, which may be none; Run starts it. A name is what the record knows a notifier by: one
// that has another name is told again of nothing, for only what is fresh is for it.
func NewHerald(d *db.DB, notifiers map[string]Notifier, log *slog.Logger) *Herald {
	return &Herald{db: d.With(files), notifiers: notifiers, log: log, poll: noticePoll}
}

// Poll sets the interval at which the herald looks for notices. The default is one second.
func (h *Herald) Poll(every time.Duration) *Herald {
	h.poll = every
	return h
}

// Run works until ctx ends, which is its only way to return, with ctx's error. A database or a notifier that is away is waited for, and
// holds up nobody else.
func (h *Herald) Run(ctx context.Context) error {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	wake := ears{}
	for name, n := range h.notifiers {
		fresh := make(chan struct{}, 1)
		wake[name] = fresh
		lanes.Go(func() { every(ctx, h.poll, fresh, func() { h.drain(ctx, name, n) }) })
	}
	lanes.Go(func() { every(ctx, pruneEvery, nil, func() { h.Prune(ctx) }) })
	every(ctx, h.poll, nil, func() {
		if h.look(ctx) {
			wake.wake("")
		}
	})
	return ctx.Err()
}

// every calls f at once and then at a pace, and when it is woken, until ctx ends.
func every(ctx context.Context, pace time.Duration, woken <-chan struct{}, f func()) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-tick.C:
		}
	}
}

// look brings about what is due, and takes on what is fresh, if there is any.
func (h *Herald) look(ctx context.Context) (fresh bool) {
	steps := []db.Step{db.Query("HappenNotices", db.Values{"batch": noticeBatch})}
	if len(h.notifiers) > 0 {
		names := slices.Sorted(maps.Keys(h.notifiers))
		steps = append(steps, db.Query("SpreadNotices", db.Values{"life": noticeLife, "batch": noticeBatch, "notifiers": names}))
	}
	for _, st := range steps {
		for looked := int64(noticeBatch); looked == noticeBatch && ctx.Err() == nil; {
			takeCtx, cancel := context.WithTimeout(ctx, takeTimeout)
			row, _, err := db.First[lookedRow](takeCtx, h.db, "look for notices", st)
			cancel()
			if looked = row.Looked; err != nil {
				h.complain(ctx, "notices: what is due cannot be found", err)
				return fresh
			}
			fresh = fresh || looked > 0
		}
	}
	return fresh
}

// drain tells one notifier until nothing is due.
func (h *Herald) drain(ctx context.Context, name string, to Notifier) {
	for ctx.Err() == nil {
		takeCtx, cancel := context.WithTimeout(ctx, takeTimeout)
		rows, err := db.All[noticeRow](takeCtx, h.db, "take notices", db.Query("TakeNotices", db.Values{
			"notifier": name, "lease": noticeLease, "batch": noticeBatch,
		}))
		cancel()
		if err != nil {
			h.complain(ctx, "notices: they cannot be read", err)
			return
		}
		slots := make(chan struct{}, noticeSenders)
		var sending sync.WaitGroup
		for _, r := range rows {
			slots <- struct{}{}
			sending.Go(func() {
				h.tell(ctx, name, to, r)
				<-slots
			})
		}
		sending.Wait()
		if len(rows) < noticeBatch {
			return
		}
	}
}

// tell sends one notice and notes what came of it.
func (h *Herald) tell(ctx context.Context, name string, to Notifier, r noticeRow) {
	n, err := r.notice()
	if err == nil {
		err = h.call(ctx, to, n)
	}
	// It has left: that must be written even while the herald stops, or it leaves again.
	noteCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	if err == nil {
		if _, err := h.db.Exec(noteCtx, "note a notice", db.Query("MarkNoticeSent", db.Values{"notice_id": r.NoticeID, "notifier": name})); err != nil {
			h.complain(ctx, "notices: a delivery was not noted, so the notice is sent again", err)
		}
		return
	}
	delay := min(noticeRetryFirst<<min(r.Attempts-1, 10), noticeRetryMost)
	row, _, noteErr := db.First[givenUpRow](noteCtx, h.db, "note a notice", db.Query("MarkNoticeFailed", db.Values{
		"notice_id": r.NoticeID, "notifier": name, "last_error": db.Text(errs.Reason(err)), "delay": delay, "life": noticeLife,
	}))
	switch {
	case noteErr != nil:
		h.complain(ctx, "notices: a failure was not noted", noteErr)
	case row.GivenUp:
		h.log.ErrorContext(ctx, "notices: one was given up", "notifier", name, "notice", r.NoticeID, "attempts", r.Attempts, "reason", errs.Reason(err))
	case ctx.Err() == nil:
		h.log.WarnContext(ctx, "notices: one was not delivered", "notifier", name, "notice", r.NoticeID, "attempts", r.Attempts, "reason", errs.Reason(err))
	}
}

// call keeps a notifier to its time, and a panic of a user's from ending the worker.
func (h *Herald) call(ctx context.Context, to Notifier, n toolspec.Notice) (err error) {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = panicked{}
		}
	}()
	return to.Notify(ctx, n)
}

// panicked is the failure of a notifier that did.
type panicked struct{}

// Error says so, without what it panicked with.
func (panicked) Error() string { return "the notifier panicked" }

// LogReason is safe for logs, as Error is.
func (panicked) LogReason() string { return "panic" }

// Prune drops notices that are no evidence any more. Run does it every hour.
func (h *Herald) Prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, relayLease)
	defer cancel()
	if _, err := h.db.Exec(ctx, "prune notices", db.Query("PruneNotices", db.Values{"keep": noticeKeep})); err != nil {
		h.complain(ctx, "notices: old ones were not pruned", err)
	}
}

// complain logs an error, unless it comes of stopping.
func (h *Herald) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		h.log.WarnContext(ctx, what, "reason", errs.Reason(err)) //nolint:sloglint // the callers' messages are constants
	}
}
