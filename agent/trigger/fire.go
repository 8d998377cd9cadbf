package trigger

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent"
)

// ErrNotFound means that there is no such trigger, that its events come from another source, or that it is retired.
// ErrNoAgent means that no run can start, because there is no such agent or version, or because it is retired.
var (
	ErrNotFound = errors.New("there is no such trigger, or it is retired")
	ErrNoAgent  = errors.New("there is no such agent or version, or it is retired")
	// ErrTooMany means that an event was not queued. It may come again.
	ErrTooMany = fmt.Errorf("%d events of the trigger wait", MaxWaiting)
)

// Store reads triggers and records what events have done.
type Store interface {
	// TriggerToFire returns the active version of a trigger. The error is ErrNotFound if there is none, or if the trigger is retired; the
	// version of a retired trigger may be returned with the error, so that its events can be recorded.
	TriggerToFire(ctx context.Context, tenantID, name string) (Document, error)
	// CanStartAgent returns ErrNoAgent if no run of the agent can start. An empty version is the active one.
	CanStartAgent(ctx context.Context, name, version string) error
	// HasStarted reports whether the record says that an event has started a run.
	HasStarted(ctx context.Context, tenantID, name, eventID string) (bool, error)
	// RecordTriggerEvent records what an event has done. An event that has started a run is not changed.
	RecordTriggerEvent(ctx context.Context, r Record) error
}

// Record says what an event has done.
type Record struct {
	TenantID, Name, Version, EventID string
	// RunID is the id of the run that the event has started. Reason says why the event started no run.
	RunID, Reason string
}

// Stopped is the reason of a Record if the trigger was retired, or got another source, while the event waited for its run.
const Stopped = "the trigger is retired, or its events come from another source now"

// OtherRun is the reason of a RefusedError if a run with another input, or another workflow, already has the id of the run of the event. The run may
// also be that of the event, if the trigger changed between the start of the run and a repeated delivery of the event.
const OtherRun = "a run with the id of the run of this event exists, and has another input: it was started for an earlier version of the trigger, or it is another run or workflow"

// Starter starts a run, or does nothing if the run was started before. The error is a *RefusedError if the id of the run is taken.
type Starter func(ctx context.Context, in agent.Input) error

// Queue keeps an event until the quota of its trigger allows its run, which a worker then starts. The event of a known id is not kept again. The error is
// ErrTooMany if too many events wait.
type Queue func(ctx context.Context, d Document, e Event) error

// Firer starts the runs of events.
type Firer struct {
	Store Store
	Start Starter
	// Queue takes the events of triggers with a quota. Without it, their runs start at once.
	Queue Queue
}

// Trigger returns the active version of a trigger whose events come from a source. The error is ErrNotFound if there is
// none. A version that is retired or has another source may be returned with this error; no event may fire it.
func (f Firer) Trigger(ctx context.Context, tenantID, name string, from Source) (Document, error) {
	d, err := f.Store.TriggerToFire(ctx, tenantID, name)
	if err == nil && (d.On != from || d.TenantID != tenantID || d.Name != name) {
		err = ErrNotFound
	}
	return d, err
}

// Fire starts the run of an event of a trigger, or queues the event, once for each id of an event, and returns the id of the run. When it
// returns without an error, the run does not need the caller any more. The error is a *RefusedError if the event starts no run, which
// is recorded if the id of the event is valid; any other error may pass, and the event may come again.
func (f Firer) Fire(ctx context.Context, d Document, e Event) (runID string, err error) {
	if err := checkEventID(e.ID); err != nil {
		return "", &RefusedError{err.Error()} // such an id cannot be stored
	}
	// The trigger or its agent may have changed since an earlier delivery.
	if started, err := f.Store.HasStarted(ctx, d.TenantID, d.Name, e.ID); err != nil || started {
		return d.RunID(e.ID), err
	}
	in, refusal := d.Input(e)
	if refusal == nil {
		refusal = f.Store.CanStartAgent(ctx, d.Agent, d.AgentVersion)
		if refusal != nil && !errors.Is(refusal, ErrNoAgent) {
			return "", refusal
		}
	}
	r := Record{TenantID: d.TenantID, Name: d.Name, Version: d.Version, EventID: e.ID}
	if refusal != nil {
		var refused *RefusedError
		if !errors.As(refusal, &refused) {
			refused = &RefusedError{refusal.Error()}
		}
		r.Reason = refused.Reason
		if err := f.Store.RecordTriggerEvent(ctx, r); err != nil {
			return "", err
		}
		return "", refused
	}
	if d.Quota != nil && f.Queue != nil {
		return in.Context.RunID, f.Queue(ctx, d, e)
	}
	err = f.Start(ctx, in)
	var taken *RefusedError
	if errors.As(err, &taken) {
		r.Reason = taken.Reason
		if err := f.Store.RecordTriggerEvent(ctx, r); err != nil {
			return "", err
		}
		return "", taken
	}
	if err != nil {
		return "", fmt.Errorf("trigger: %w", err)
	}
	// A process that ends here has started the run and written no row. The next delivery starts the same run again, which
	// does nothing, and writes the row.
	r.RunID = in.Context.RunID
	return r.RunID, f.Store.RecordTriggerEvent(ctx, r)
}
