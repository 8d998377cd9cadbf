package reads

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

type ownerRow struct {
	LastSeq int64
	Owns    bool
}

// OwnsRun looks at the calls and the texts of a run that have an event with a number above after. owns
// is true if there are some, and identity is the actor or the subject of each of these calls and the
// owner of each of these texts. lastSeq is the number of the last event that it has checked.
func (s *Store) OwnsRun(ctx context.Context, tenantID, runID, identity string, after int64) (lastSeq int64, owns bool, err error) {
	row, _, err := db.First[ownerRow](ctx, s.db, "owner of a run", db.Query("OwnsRun", db.Values{
		"tenant_id": db.Text(tenantID), "run_id": db.Text(runID), "identity": db.Text(identity), "after": after,
	}))
	return row.LastSeq, row.Owns, err
}
