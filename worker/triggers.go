package worker

import (
	"context"

	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
)

// ownEvents starts the runs of triggers whose events come from Pawl.
type ownEvents struct{ agents *agent.Agents }

// Fire implements outbox.Firer. The trigger may have retired or changed since the event, and an event that starts no run is recorded.
func (o ownEvents) Fire(ctx context.Context, e outbox.TriggerEvent) error {
	_, err := o.agents.FireEvent(ctx, trigger.Own, e.TenantID, e.Name, trigger.Event{ID: e.EventID, Data: e.Data})
	return err
}
