package reads

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

type ownerRow struct{ Owns bool }

// OwnsRun reports whether the run has calls, and identity is the actor or the subject of each.
func (s *Store) OwnsRun(ctx context.Context, tenantID, runID, identity string) (bool, error) {
	row, _, err := db.First[ownerRow](ctx, s.db, "owner of a run", db.Query("OwnsRun", db.Values{
		"tenant_id": db.Text(tenantID), "run_id": db.Text(runID), "identity": db.Text(identity),
	}))
	return row.Owns, err
}
