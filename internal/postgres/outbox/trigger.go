package outbox

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// triggerPoll is the interval between two queries for events. A delay of one second does not matter to a run of an agent.
	triggerPoll = time.Second
	// triggerLease is the time after which an event that was taken can be taken again. triggerBatch / triggerSenders times fireTimeout
	// must be less than triggerLease.
	triggerLease   = time.Minute
	triggerBatch   = 16
	triggerSenders = 8
	fireTimeout    = 20 * time.Second
	// triggerKeep is how long Pawl tries to start the run of an event.
	triggerKeep = 7 * 24 * time.Hour
)

// tooLate is the reason why an event that was dropped has started no run.
const tooLate = "no run was started within 7 days"

// TriggerEvent is an event that waits for its run, for one trigger.
type TriggerEvent struct {
	TenantID, Name, EventID string
	// Source is where the event comes from, as trigger.Source.
	Source string
	Data   json.RawMessage
	// Attempts counts from 1.
	Attempts int
}

// Firer starts the run of an event. It may receive an event more than once, and starts one run for each event id of a trigger. After an
// error, it receives the event again later. An event that starts no run is no error.
type Firer interface {
	Fire(ctx context.Context, e TriggerEvent) error
}

// TriggerEvents takes events out of the queue and gives each event to its Firer at least once. Any number of TriggerEvents may
// run on one database.
type TriggerEvents struct {
	queue[TriggerEvent]

	namespace string
	firer     Firer
}

// NewTriggerEvents returns TriggerEvents for the calls and runs of a Temporal namespace. Run starts it.
func NewTriggerEvents(d *db.DB, namespace string, firer Firer, log *slog.Logger) *TriggerEvents {
	lock := db.Query("LockTriggerQueue", db.Values{})
	return &TriggerEvents{namespace: namespace, firer: firer, queue: queue[TriggerEvent]{
		db: d.With(files), log: log, name: "trigger events", poll: triggerPoll, batch: triggerBatch, senders: triggerSenders,
		retryFirst: retryFirst, retryMost: retryMost, prune: db.Query("PruneTriggerEvents", db.Values{"keep": triggerKeep, "reason": db.Text(tooLate)}), lock: &lock,
	}}
}

// Run delivers events until ctx ends, and then returns ctx's error. It tries again while the database or Temporal does not answer.
func (t *TriggerEvents) Run(ctx context.Context) error {
	var pruning sync.WaitGroup
	defer pruning.Wait()
	pruning.Go(func() { every(ctx, pruneEvery, nil, func() { t.Prune(ctx) }) })
	take := db.Query("TakeTriggerEvents", db.Values{"namespace": db.Text(t.namespace), "lease": triggerLease, "batch": triggerBatch, "keep": triggerKeep})
	every(ctx, t.poll, nil, func() { t.drain(ctx, take, func(e TriggerEvent) { t.fire(ctx, e) }) })
	return ctx.Err()
}

// fire gives one event to the Firer, and deletes the event from the queue or, after an error, delays it.
func (t *TriggerEvents) fire(ctx context.Context, e TriggerEvent) {
	fireCtx, cancel := context.WithTimeout(ctx, fireTimeout)
	err := t.firer.Fire(fireCtx, e)
	cancel()
	noteCtx, cancel := noteContext(ctx)
	defer cancel()
	of := db.Values{"tenant_id": db.Text(e.TenantID), "name": db.Text(e.Name), "event_id": db.Text(e.EventID)}
	note := db.Query("DropTriggerEvent", of)
	if err != nil {
		note = db.Query("DelayTriggerEvent", of.With(db.Values{"delay": t.delay(e.Attempts)}))
		if ctx.Err() == nil {
			t.log.WarnContext(ctx, "an event of a trigger starts its run later", "tenant", e.TenantID, "trigger", e.Name, "attempts", e.Attempts, "reason", errs.Reason(err))
		}
	}
	if _, err := t.db.Exec(noteCtx, "note a trigger event", note); err != nil {
		t.logError(ctx, "an outcome was not noted, so the event is handled again", err)
	}
}
