package worker

import (
	"context"

	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
)

// queuedEvents starts the runs of queued events.
type queuedEvents struct{ agents *agent.Agents }

// Fire implements outbox.Firer. The trigger may have retired or changed since the event, and an event that starts no run is recorded.
func (q queuedEvents) Fire(ctx context.Context, e outbox.TriggerEvent) error {
	_, err := q.agents.FireEvent(ctx, trigger.Source(e.Source), e.TenantID, e.Name, trigger.Event{ID: e.EventID, Data: e.Data})
	return err
}
