package recheck

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// recheckAgain is after what time the second scan is due. An admission is given up after two seconds: what it read before the change has
	// been committed by then, or nobody obeys it.
	recheckAgain = 5 * time.Second
	// recheckMargin is how long before the change an admission may have begun that its first scan did not see.
	recheckMargin = 10 * time.Second
	recheckBatch  = 32
)

// Filter says which calls are to look again. Empty fields do not narrow.
type Filter struct {
	TenantID string
	// Tool is an id, or a prefix and one *.
	Tool string
	// Effect is the one that the call was planned with.
	Effect toolspec.Effect
	// ActorID is who calls, or for whom.
	ActorID      string
	ConnectionID string
	// WithSubject leaves out calls without a subject, of those that began before the change.
	WithSubject bool
	// PolicyDigest leaves out calls that were admitted under this version, of those that began around the change.
	PolicyDigest string
}

// recheckRow is the row of Recheck.
type recheckRow struct {
	Told     int64
	Notified int64
}

// recheckAgainRow is the row of RecheckAgain.
type recheckAgainRow struct {
	Scanned  int64
	Told     int64
	Notified int64
}

// changeRow is the row of a statement that changes something.
type changeRow interface {
	// Rechecks says whether unsettled calls are to hear of it.
	Rechecks() bool
}

// Recheck tells every unsettled call that the filter covers to look again, and returns how many: those that wait for a person or for
// capacity are judged again at once, those that run before their next attempt. What was admitted meanwhile under the old state is told by
// a second scan, five seconds later. Where a change in the database is the reason, Recheck is too late: Changing puts both into one transaction.
func (s *Store) Recheck(ctx context.Context, f Filter) (told int64, err error) {
	row, _, err := db.First[recheckRow](ctx, s.db, "recheck", Step(f))
	return row.Told, err
}

// Step is the step that does it, for the transaction of a change and after it: calls hear of the change, or neither of both happened.
func Step(f Filter) db.Step {
	return db.Query("Recheck", db.Values{
		"tenant_id": db.Text(f.TenantID), "tool": db.Text(f.Tool), "effect": db.Text(f.Effect), "actor_id": db.Text(f.ActorID),
		"connection_id": db.Text(f.ConnectionID), "with_subject": f.WithSubject, "policy_digest": f.PolicyDigest, "again": recheckAgain,
	})
}

// Changing runs the statements of a change, the last of which returns a row, and tells the calls where that row asks for it: all in one transaction.
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

// RecheckAgain does the second scans that are due, and returns whether there may be more.
func (s *Store) RecheckAgain(ctx context.Context) (more bool, err error) {
	row, _, err := db.First[recheckAgainRow](ctx, s.db, "recheck again", db.Query("RecheckAgain", db.Values{"batch": recheckBatch, "margin": recheckMargin}))
	return row.Scanned == recheckBatch, err
}
