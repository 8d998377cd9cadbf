package reads

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

type ownerRow struct {
	LastSeq int64
	Owns    bool
}

// OwnsRun reports whether the run has calls or texts with an event after the sequence number after, and
// identity is the actor or the subject of each such call, and the owner of each text. It returns the
// number of the last event that it has checked.
func (s *Store) OwnsRun(ctx context.Context, tenantID, runID, identity string, after int64) (lastSeq int64, owns bool, err error) {
	row, _, err := db.First[ownerRow](ctx, s.db, "owner of a run", db.Query("OwnsRun", db.Values{
		"tenant_id": db.Text(tenantID), "run_id": db.Text(runID), "identity": db.Text(identity), "after": after,
	}))
	return row.LastSeq, row.Owns, err
}
