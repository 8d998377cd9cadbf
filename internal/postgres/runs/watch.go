package runs

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// markLasts is how long the mark lasts by which a run is watched: the database sends notifications
	// only of the events of watched runs.
	markLasts = 5 * time.Minute
	// renewAfter is how long after a watcher has written or found the mark it writes the mark again. A mark
	// that it has found lasts for at least half of markLasts.
	renewAfter = markLasts / 4
	// pageSize bounds the events of one read, which a watcher holds in memory. A result has up to
	// 64 KiB.
	pageSize = 16
	// readOnlyPoll is the interval of the reads for a role that may not mark a run as watched, and behind a pooler, where no notifications arrive.
	readOnlyPoll = time.Second
	// retryFirst is the delay before a failed read is tried again. Each failure doubles the delay, up to retryMost.
	retryFirst = 100 * time.Millisecond
	retryMost  = 10 * time.Second
	// giveUp is how long a watcher tries to reach the database.
	giveUp = time.Minute
	// The SQLSTATEs of a statement that the role may not run, and of a write to a database that only
	// answers reads.
	insufficientPrivilege  = "42501"
	readOnlySQLTransaction = "25006"
)

// eventRow is a row of the statement Events.
type eventRow struct {
	Seq, AtMs                        int64
	Kind                             toolspec.RunEventKind
	ToolCallID, InvocationID, ToolID string
	OwnerID                          string
	Detail                           json.RawMessage
}

func (r eventRow) event() (e toolspec.RunEvent, err error) {
	e = toolspec.RunEvent{Seq: r.Seq, AtMs: r.AtMs, Kind: r.Kind, ToolCallID: r.ToolCallID, InvocationID: r.InvocationID, ToolID: r.ToolID, OwnerID: r.OwnerID}
	if r.Detail == nil {
		return e, nil
	}
	switch r.Kind {
	case toolspec.RunCallStart:
		e.Args = r.Detail
	case toolspec.RunApprovalRequested, toolspec.RunApprovalDecided:
		var detail struct {
			Approval *toolspec.RunApproval
			Args     json.RawMessage
		}
		err = json.Unmarshal(r.Detail, &detail)
		e.Approval, e.Args = detail.Approval, detail.Args
	case toolspec.RunCallProgress:
		err = json.Unmarshal(r.Detail, &e.Progress)
	case toolspec.RunCallResult:
		err = json.Unmarshal(r.Detail, &e.Result)
	case toolspec.RunTextDelta:
		err = json.Unmarshal(r.Detail, &e.Text)
	case toolspec.RunDone:
	}
	return e, err
}

// keyRow is a row of the statements Watch and RunKey.
type keyRow struct{ Key string }

// watch is one watcher of a run.
type watch struct {
	store           *Store
	tenantID, runID string
	after           int64
	waiter          *watcher
	// marked is when the watcher wrote the mark of the run last, or found a mark.
	marked time.Time
	// readOnly says that the role may not write the mark.
	readOnly bool
}

// Watch yields the events of a run with a Seq beyond after, and then waits for more, until ctx ends.
// It marks the run as watched. A role that may not write runs reads once a second instead. While the
// database does not answer, Watch tries again for a minute, and then yields the error and ends.
func (s *Store) Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error] {
	return func(yield func(toolspec.RunEvent, error) bool) {
		w := &watch{store: s, tenantID: tenantID, runID: runID, after: after, waiter: s.hub.join()}
		defer s.hub.leave(w.waiter)
		delay, failing := retryFirst, time.Time{}
		for ctx.Err() == nil {
			more, ok, err := w.step(ctx, yield)
			switch {
			case !ok || ctx.Err() != nil:
				return
			case err == nil:
				delay, failing = retryFirst, time.Time{}
				if !more {
					w.wait(ctx)
				}
				continue
			case failing.IsZero():
				failing = time.Now()
			}
			if !errs.IsTransient(err) || time.Since(failing) > giveUp {
				yield(toolspec.RunEvent{}, err)
				return
			}
			db.Pause(ctx, delay)
			delay = min(2*delay, retryMost)
		}
	}
}

// step marks the run if that is due, and yields a page of events. ok is false if yield ended the
// iteration; more says that there may be another page.
func (w *watch) step(ctx context.Context, yield func(toolspec.RunEvent, error) bool) (more, ok bool, err error) {
	if err := w.mark(ctx); err != nil {
		return false, true, err
	}
	rows, err := db.All[eventRow](ctx, w.store.db, "watch", db.Query("Events", db.Values{
		"tenant_id": db.Text(w.tenantID), "run_id": db.Text(w.runID), "after": w.after, "max": pageSize,
	}))
	if err != nil {
		return false, true, err
	}
	for _, row := range rows {
		e, err := row.event()
		if err != nil {
			return false, true, db.Failure("watch", err)
		}
		w.after = e.Seq
		if !yield(e, nil) {
			return false, false, nil
		}
	}
	return len(rows) == pageSize, true, nil
}

// mark marks the run as watched, if that is due, and sets the key of its notifications. It must precede the
// read of the events. The mark and each event update the same row of the table runs, so each waits until the
// other has committed. A writer that does not see the mark has committed its event before, and the read finds
// the event.
func (w *watch) mark(ctx context.Context) error {
	if !w.marked.IsZero() && time.Since(w.marked) < renewAfter {
		return nil
	}
	row, found, err := w.writeMark(ctx)
	if err != nil {
		return err
	}
	if !found {
		return nil // Another watcher has made the row of the run at the same time: the next step finds it.
	}
	w.store.hub.setKey(w.waiter, row.Key)
	if !w.readOnly {
		w.marked = time.Now()
	}
	return nil
}

// writeMark writes the mark and returns the key of the run. If the role may only read, writeMark sets readOnly
// and reads the key.
func (w *watch) writeMark(ctx context.Context) (row keyRow, found bool, err error) {
	of := db.Values{"tenant_id": db.Text(w.tenantID), "run_id": db.Text(w.runID)}
	if !w.readOnly {
		row, found, err = db.First[keyRow](ctx, w.store.db, "watch", db.Query("Watch", of.And("lasts", markLasts)))
		var refused *db.Error
		w.readOnly = errors.As(err, &refused) && (refused.State == insufficientPrivilege || refused.State == readOnlySQLTransaction)
	}
	if w.readOnly {
		return db.First[keyRow](ctx, w.store.db, "watch", db.Query("RunKey", of))
	}
	return row, found, err
}

// wait returns when there may be another event, or when the mark is due.
func (w *watch) wait(ctx context.Context) {
	longest := renewAfter - time.Since(w.marked)
	if w.readOnly || !w.store.db.Notifies() {
		longest = readOnlyPoll
	}
	select {
	case <-ctx.Done():
	case <-w.waiter.wake:
	case <-time.After(longest):
	}
}
