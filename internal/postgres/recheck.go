package postgres

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

// RecheckFilter says which calls are to look again. Empty fields do not narrow.
type RecheckFilter struct {
	TenantID string
	// Tool is an id, or a prefix and one *.
	Tool string
	// Effect is the one that the call was planned with.
	Effect toolspec.Effect
	// ActorID is who calls, or for whom.
	ActorID      string
	ConnectionID string
	// withSubject leaves out calls without a subject, of those that began before the change.
	withSubject bool
	// policyDigest leaves out calls that were admitted under this version, of those that began around the change.
	policyDigest string
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
	// rechecks says whether unsettled calls are to hear of it.
	rechecks() bool
}

// Recheck tells every unsettled call that the filter covers to look again, and returns how many: those that wait for a person or for
// capacity are judged again at once, those that run before their next attempt. What was admitted meanwhile under the old state is told by
// a second scan, five seconds later. Where a change in the database is the reason, Recheck is too late: changing puts both into one transaction.
func (s *Store) Recheck(ctx context.Context, f RecheckFilter) (told int64, err error) {
	row, _, err := db.First[recheckRow](ctx, s.db, "recheck", recheck(f))
	return row.Told, err
}

// recheck is the step that does it, for the transaction of a change and after it: calls hear of the change, or neither of both happened.
func recheck(f RecheckFilter) db.Step {
	return db.Query("Recheck", db.Values{
		"tenant_id": db.Text(f.TenantID), "tool": db.Text(f.Tool), "effect": db.Text(f.Effect), "actor_id": db.Text(f.ActorID),
		"connection_id": db.Text(f.ConnectionID), "with_subject": f.withSubject, "policy_digest": f.policyDigest, "again": recheckAgain,
	})
}

// changing runs the statements of a change, the last of which returns a row, and recheck where that row asks for it: all in one transaction.
func changing[T changeRow](ctx context.Context, s *Store, op string, f RecheckFilter, steps ...db.Step) (row T, err error) {
	err = s.db.Within(ctx, op, func(tx pgx.Tx) (err error) {
		if row, _, err = db.Sent[T](ctx, s.db, tx, steps...); err != nil || !row.rechecks() {
			return err
		}
		_, _, err = db.Sent[recheckRow](ctx, s.db, tx, recheck(f))
		return err
	})
	return row, err
}

// recheckAgain does the second scans that are due, and returns whether there may be more.
func (s *Store) recheckAgain(ctx context.Context) (more bool, err error) {
	row, _, err := db.First[recheckAgainRow](ctx, s.db, "recheck again", db.Query("RecheckAgain", db.Values{"batch": recheckBatch, "margin": recheckMargin}))
	return row.Scanned == recheckBatch, err
}
