package worker

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/internal/filewatch"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// LoadTriggerFiles reads PAWL_TRIGGER_FILES: whether changes of files are events of triggers.
func LoadTriggerFiles() (bool, error) {
	switch os.Getenv("PAWL_TRIGGER_FILES") {
	case "", "off":
		return false, nil
	case "on":
		return true, nil
	}
	return false, errors.New("config: PAWL_TRIGGER_FILES must be on or off")
}

// watchFiles queues the changes of files in the workspaces until ctx ends.
func watchFiles(ctx context.Context, c Config, store *postgres.Store, log *slog.Logger) {
	workspaces, err := files.OpenAll(c.Workspace)
	if err != nil {
		log.Error("changes of files are not seen", "reason", errs.Reason(err))
		return
	}
	defer func() { _ = workspaces.Close() }()
	_ = filewatch.New(store, workspaces.For, namespaceOf(c), log).Run(ctx) // it ends when ctx does
}

// queuedEvents starts the runs of queued events.
type queuedEvents struct{ agents *agent.Agents }

// Fire implements outbox.Firer. It uses the trigger as it is now: the trigger may have changed or retired since the
// event. An event that starts no run is recorded.
func (q queuedEvents) Fire(ctx context.Context, e outbox.TriggerEvent) error {
	_, err := q.agents.FireEvent(ctx, trigger.Source(e.Source), e.TenantID, e.Name, trigger.Event{ID: e.EventID, Data: e.Data})
	return err
}
