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

// Fire starts the run of a time of a schedule, unless it was started before.
func (a *Agents) Fire(ctx context.Context, in contract.TriggerFireIn) (contract.TriggerFireOut, error) {
	at := time.UnixMilli(in.At).UTC().Format(time.RFC3339)
	data, err := json.Marshal(struct {
		ScheduledAt string `json:"scheduledAt"`
	}{at})
	if err != nil {
		return contract.TriggerFireOut{}, err
	}
	runID, err := a.FireEvent(ctx, trigger.Schedule, in.TenantID, in.Name, trigger.Event{ID: at, Data: data})
	var refused *trigger.RefusedError
	switch {
	case errors.Is(err, trigger.ErrNotFound):
		return contract.TriggerFireOut{Refused: err.Error()}, nil
	case errors.As(err, &refused):
		return contract.TriggerFireOut{Refused: refused.Reason}, nil
	}
	return contract.TriggerFireOut{RunID: runID}, err
}

// FireEvent starts the run of an event of a trigger, unless it was started before, and returns its id. The error is trigger.ErrNotFound if there is no
// such trigger with events of this source, a *trigger.RefusedError if the event starts no run, and any other one if the event may come again.
func (a *Agents) FireEvent(ctx context.Context, from trigger.Source, tenantID, name string, e trigger.Event) (runID string, err error) {
	firer := trigger.Firer{Store: a.Triggers, Start: func(ctx context.Context, in pawlagent.Input) error {
		_, err := a.Client.StartAgent(ctx, in)
		switch {
		case errors.Is(err, client.ErrOtherRun):
			return &trigger.RefusedError{Reason: trigger.OtherRun}
		case err != nil:
			return errs.Transient(err) // the input is valid: it is Temporal that fails
		}
		return nil
	}}
	d, err := firer.Trigger(ctx, tenantID, name, from)
	if err != nil {
		return "", err
	}
	return firer.Fire(ctx, d, e)
}
