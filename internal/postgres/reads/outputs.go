package reads

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// mostOutputs bounds the outputs in a list.
const mostOutputs = 500

// OutputsOfRun returns the stored outputs of the calls of a run, newest first, at most 500. The list includes outputs that are being written,
// and outputs that expired less than 30 days ago.
func (s *Store) OutputsOfRun(ctx context.Context, tenantID, runID string) ([]OutputRecord, error) {
	return db.All[OutputRecord](ctx, s.db, "outputs of a run", db.Query("OutputsOfRun", db.Values{
		"tenant_id": db.Text(tenantID), "run_id": db.Text(runID), "max": mostOutputs,
	}))
}
