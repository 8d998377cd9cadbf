package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Fire starts the run for one time of a schedule, unless the run was started before.
func (a *Agents) Fire(ctx context.Context, in contract.TriggerFireIn) (contract.TriggerFireOut, error) {
	at := time.UnixMilli(in.At).UTC().Format(time.RFC3339)
	data, err := json.Marshal(struct {
		ScheduledAt string `json:"scheduledAt"`
	}{at})
	if err != nil {
		return contract.TriggerFireOut{}, err
	}
	return a.FireEvent(ctx, trigger.Schedule, in.TenantID, in.Name, trigger.Event{ID: at, Data: data})
}

// FireEvent starts the run for an event of a trigger, unless the run was started before. If there is no such
// trigger with events of this source, or if the trigger refuses the event, FireEvent starts no run, and the
// answer and the list of the trigger's events have the reason. After an error, the caller may send the same event again.
func (a *Agents) FireEvent(ctx context.Context, from trigger.Source, tenantID, name string, e trigger.Event) (contract.TriggerFireOut, error) {
	firer := trigger.Firer{Store: a.Triggers, Start: func(ctx context.Context, in pawlagent.Input) error {
		_, err := a.Client.StartAgent(ctx, in)
		switch {
		case errors.Is(err, client.ErrOtherRun):
			return &trigger.RefusedError{Reason: trigger.OtherRun}
		case err != nil:
			return errs.Transient(err) // the input is valid, so Temporal has failed
		}
		return nil
	}}
	d, err := firer.Trigger(ctx, tenantID, name, from)
	if errors.Is(err, trigger.ErrNotFound) {
		out := contract.TriggerFireOut{Refused: err.Error()}
		if d.Version == "" {
			return out, nil // there is no such trigger, so it has no list of events
		}
		// The sender knows that the event was taken, so the list of events has to say that it starts no run.
		return out, a.Triggers.RecordTriggerEvent(ctx, trigger.Record{TenantID: tenantID, Name: name, Version: d.Version, EventID: e.ID, Reason: trigger.Stopped})
	}
	if err != nil {
		return contract.TriggerFireOut{}, err
	}
	runID, err := firer.Fire(ctx, d, e)
	var refused *trigger.RefusedError
	if errors.As(err, &refused) {
		return contract.TriggerFireOut{Refused: refused.Reason}, nil
	}
	return contract.TriggerFireOut{RunID: runID}, err
}
