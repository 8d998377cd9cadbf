package recheck

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// recheckAgain is the time from a change to its second scan. An admission may read the state
	// before the change and commit after the first scan. Pawl abandons an admission after two
	// seconds, so after five seconds it has committed, or its result is not used.
	recheckAgain = 5 * time.Second
	// recheckMargin is how far before the change the second scan looks. A call that began shortly before the change may have committed after
	// the first scan, which did not see it then. The margin is several times as long as an admission can take.
	recheckMargin = 10 * time.Second
	recheckBatch  = 32
)

// Filter selects the calls that get a recheck. Empty fields do not narrow it.
type Filter struct {
	TenantID string
	// Tool is a tool id, or a prefix followed by *.
	Tool string
	// Effect is the effect in the call's plan.
	Effect toolspec.Effect
	// ActorID is the actor or the subject of the call.
	ActorID      string
	ConnectionID string
	// WithSubject leaves out calls without a subject, in the first scan only.
	WithSubject bool
	// PolicyDigest leaves out calls that were admitted under this version, in the second scan
	// only.
	PolicyDigest string
}

// recheckRow is a row of the statement Recheck.
type recheckRow struct {
	Rechecked int64
	Notified  int64
}

// recheckAgainRow is a row of the statement RecheckAgain.
type recheckAgainRow struct {
	Scanned   int64
	Rechecked int64
	Notified  int64
}

// changeRow is the row of a statement that changes something.
type changeRow interface {
	// Rechecks reports whether open calls need a recheck.
	Rechecks() bool
}

// Recheck sends a recheck to every open call that the filter selects, and returns the number of
// calls. A call that waits for an approver or for capacity is judged again at once; a running
// call is judged before its next attempt. A second scan, five seconds later, finds calls that
// were admitted meanwhile under the old state. For a change in the database use Changing, which
// puts the change and the recheck into one transaction.
func (s *Store) Recheck(ctx context.Context, f Filter) (rechecked int64, err error) {
	row, _, err := db.First[recheckRow](ctx, s.db, "recheck", Step(f))
	return row.Rechecked, err
}

// Step returns the step of the recheck. It belongs in the transaction of a change, after the
// change, so that either both happen or neither.
func Step(f Filter) db.Step {
	return db.Query("Recheck", db.Values{
		"tenant_id": db.Text(f.TenantID), "tool": db.Text(f.Tool), "effect": db.Text(f.Effect), "actor_id": db.Text(f.ActorID),
		"connection_id": db.Text(f.ConnectionID), "with_subject": f.WithSubject, "policy_digest": f.PolicyDigest, "again": recheckAgain,
	})
}

// Changing runs the statements of a change in one transaction. If the row of the last statement
// asks for it, Changing sends the recheck in the same transaction.
func Changing[T changeRow](ctx context.Context, d *db.DB, op string, f Filter, steps ...db.Step) (row T, err error) {
	err = d.Within(ctx, op, func(tx pgx.Tx) (err error) {
		if row, _, err = db.Sent[T](ctx, d, tx, steps...); err != nil || !row.Rechecks() {
			return err
		}
		_, _, err = db.Sent[recheckRow](ctx, d, tx, Step(f))
		return err
	})
	return row, err
}

// RecheckAgain runs a batch of the second scans that are due, and returns whether more may be
// due.
func (s *Store) RecheckAgain(ctx context.Context) (more bool, err error) {
	row, _, err := db.First[recheckAgainRow](ctx, s.db, "recheck again", db.Query("RecheckAgain", db.Values{"batch": recheckBatch, "margin": recheckMargin}))
	return row.Scanned == recheckBatch, err
}
