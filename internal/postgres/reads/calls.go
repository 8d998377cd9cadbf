package reads

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

type (
	// Call is a call in a list.
	Call = client.CallSummary
	// Filter narrows a list. Zero fields do not narrow it.
	Filter = client.CallFilter
)

// List returns the tenant's calls, newest first.
func (s *Store) List(ctx context.Context, f Filter) ([]Call, error) {
	var before *time.Time
	var beforeID *string
	if f.After != nil {
		before, beforeID = &f.After.CreatedAt, &f.After.InvocationID
	}
	return db.All[Call](ctx, s.db, "list", db.Query("ListCalls", db.Values{
		"tenant_id": db.Text(f.TenantID), "status": db.Text(f.Status), "outcome": db.Text(f.Outcome), "tool_id": db.Text(f.ToolID),
		"before": before, "before_id": beforeID, "max": db.Limit(f.Limit),
	}))
}
