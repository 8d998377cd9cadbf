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
	// noticePoll is the interval at which notices are looked for. A poll is enough, because a
	// delay of one second does not matter to people; a database notification would cost every
	// approval request one.
	noticePoll = time.Second
	// noticeBatch / noticeSenders rounds of noticeTimeout fit into noticeLease.
	noticeBatch   = 32
	noticeSenders = 4
	noticeTimeout = 10 * time.Second
	noticeLease   = 2 * time.Minute
	// The first delay before a notice is sent again, doubled by each try, and its maximum.
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

// Herald creates the reminders and escalations that are due, and delivers all notices of
// approval requests to the notifiers, at least once each. Any number of heralds may run on one
// database. A herald without notifiers only creates reminders and escalations. A herald with
// notifiers schedules deliveries for its own notifiers and for notifiers that other heralds had
// within a day.
type Herald struct {
	db        *db.DB
	notifiers map[string]Notifier
	log       *slog.Logger
	poll      time.Duration
}

// NewHerald returns a herald for the notifiers, by name; the map may be empty. Run starts it.
// The record identifies a notifier by its name. A renamed notifier does not receive old notices
// again, because only new notices are scheduled for it.
func NewHerald(d *db.DB, notifiers map[string]Notifier, log *slog.Logger) *Herald {
	return &Herald{db: d.With(files), notifiers: notifiers, log: log, poll: noticePoll}
}

// Poll sets the interval at which the herald looks for notices. The default is one second.
func (h *Herald) Poll(every time.Duration) *Herald {
	h.poll = every
	return h
}

// Run works until ctx ends, and then returns ctx's error. It retries a database or a notifier
// that does not answer; such a notifier does not delay the others.
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

// every calls f at once, then at each tick of pace and at each wake-up, until ctx ends.
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

// look creates the reminders and escalations that are due and schedules deliveries of new
// notices. fresh is true if it found any.
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

// drain sends notices to one notifier until no notice is due.
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

// tell sends one notice and records the result.
func (h *Herald) tell(ctx context.Context, name string, to Notifier, r noticeRow) {
	n, err := r.notice()
	if err == nil {
		err = h.call(ctx, to, n)
	}
	// The notice is sent. Record that even while the herald stops; otherwise the notice is sent
	// again.
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

// call bounds the time of a notifier and turns its panic into an error, so that user code cannot
// end the worker.
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

// panicked is the error of a notifier that panicked.
type panicked struct{}

// Error does not contain the value of the panic.
func (panicked) Error() string { return "the notifier panicked" }

// LogReason is safe for logs, as Error is.
func (panicked) LogReason() string { return "panic" }

// Prune deletes notices that are older than noticeKeep. Run calls it every hour.
func (h *Herald) Prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, relayLease)
	defer cancel()
	if _, err := h.db.Exec(ctx, "prune notices", db.Query("PruneNotices", db.Values{"keep": noticeKeep})); err != nil {
		h.complain(ctx, "notices: old ones were not pruned", err)
	}
}

// complain logs an error, unless the herald is stopping.
func (h *Herald) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		h.log.WarnContext(ctx, what, "reason", errs.Reason(err)) //nolint:sloglint // the callers' messages are constants
	}
}
