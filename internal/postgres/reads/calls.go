package reads

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// Call is a call in a list.
type Call struct {
	InvocationID string
	RunID        string
	ToolCallID   string
	ToolID       string
	ActorID      string
	WorkflowID   string
	// Status is running, waiting_approval, parked_unknown, waiting_capacity or settled. It is
	// the state in the record; a query of the running workflow is more precise.
	Status toolspec.Status
	// Outcome is ok or the error code of a settled call. It is empty for an open call.
	Outcome   string
	Attempts  int
	StartedAt time.Time
	SettledAt *time.Time
	CreatedAt time.Time
}

// Filter narrows a list. Zero fields do not narrow it.
type Filter struct {
	// TenantID is required.
	TenantID string
	Status   toolspec.Status
	// Outcome is ok or an error code.
	Outcome string
	ToolID  string
	// After is the last call of the previous page. The list continues with older calls.
	After *Call
	// Limit is 1–500; 0 means 50.
	Limit int
}

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
