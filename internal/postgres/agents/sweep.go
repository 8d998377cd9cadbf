package agents

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// OpenAgentRuns returns a page of the open runs of a namespace, newest first. It returns no runs for an empty namespace.
func (s *Store) OpenAgentRuns(ctx context.Context, page upkeep.RunPage) ([]upkeep.OpenRun, error) {
	var before *time.Time
	tenant, run := "", ""
	if page.Before != nil {
		before, tenant, run = &page.Before.OpenedAt, page.Before.TenantID, page.Before.RunID
	}
	return db.All[upkeep.OpenRun](ctx, s.db, "open agent runs", db.Query("OpenAgentRuns", db.Values{
		"namespace": db.Text(page.Namespace), "before": before, "before_tenant": db.Text(tenant), "before_run": db.Text(run), "max": page.Limit,
	}))
}
