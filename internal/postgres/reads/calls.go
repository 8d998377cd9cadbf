package reads

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// Call is a call as lists show it.
type Call struct {
	InvocationID string
	RunID        string
	ToolCallID   string
	ToolID       string
	ActorID      string
	WorkflowID   string
	// Status is running, waiting_approval, waiting_capacity or settled: what the record knows. A running workflow knows more.
	Status toolspec.Status
	// Outcome is ok or the error code of a settled call, else empty.
	Outcome   string
	Attempts  int
	StartedAt time.Time
	SettledAt *time.Time
	CreatedAt time.Time
}

// Filter narrows a list. The zero fields do not.
type Filter struct {
	// TenantID is required.
	TenantID string
	Status   toolspec.Status
	// Outcome is ok or an error code.
	Outcome string
	ToolID  string
	// After is the last call of the page before: the list goes on with what is older.
	After *Call
	// Limit is 1–500; 0 means 50.
	Limit int
}

// List returns the tenant's calls, the newest first.
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
