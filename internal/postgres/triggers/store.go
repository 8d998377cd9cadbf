package triggers

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

// ErrTaken means that the version is stored with another content. Versions are not changed.
var ErrTaken = errors.New("the version is stored with another content")

// keepEvents is how long the record of an event is kept. After that, a delivery with the same event id finds the run by
// the id of the run, for as long as the record of runs or Temporal has this run.
const keepEvents = 90 * 24 * time.Hour

// Store stores triggers. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns a Store that uses the database d.
func New(d *db.DB) *Store { return &Store{db: d.With(files)} }

// Applied is what ApplyTrigger has done.
type Applied struct {
	Digest string
	// Active says that the version is active now. It is false if the trigger is retired.
	Active bool
	// Changed says that another version was active, or no version.
	Changed bool
	// Before is the version that was active before.
	Before string
}

type applyRow struct{ Outcome, Before string }

// Changed is what ActivateTrigger or RetireTrigger has done. Before is the version that was active before.
type Changed struct {
	Before  string
	Changed bool
}

type documentRow struct {
	Document string
	Retired  bool
}

type startedRow struct{ Started bool }

func triggerKey(tenantID, name string) db.Values {
	return db.Values{"tenant_id": db.Text(tenantID), "name": db.Text(name)}
}

// ApplyTrigger stores a document and makes it the active version of its trigger. by is the person who does it. A retired trigger stays
// retired. The error is ErrTaken if the version is stored with another content; nothing is changed then.
func (s *Store) ApplyTrigger(ctx context.Context, d trigger.Document, by string) (Applied, error) {
	text, err := d.Canonical()
	if err != nil {
		return Applied{}, err
	}
	digest, err := d.Digest()
	if err != nil {
		return Applied{}, err
	}
	of := triggerKey(d.TenantID, d.Name)
	row, _, err := db.Batched[applyRow](ctx, s.db, "apply trigger", db.Query("LockTrigger", of),
		db.Query("ApplyTrigger", triggerKey(d.TenantID, d.Name).With(db.Values{
			"version": db.Text(d.Version), "digest": digest, "document": db.Text(string(text)), "by": db.Text(by),
		})))
	if err != nil {
		return Applied{}, err
	}
	if row.Outcome == "taken" {
		return Applied{}, fmt.Errorf("%w: %s %s; give the new content another version", ErrTaken, d.Name, d.Version)
	}
	return Applied{Digest: digest, Active: row.Outcome != "retired", Changed: row.Outcome == "active", Before: row.Before}, nil
}

// ActivateTrigger makes a stored version the active version. by is the person who does it. It ends the retirement of a trigger. The error is
// db.ErrNotFound if the version is not stored.
func (s *Store) ActivateTrigger(ctx context.Context, tenantID, name, version, by string) (Changed, error) {
	return s.change(ctx, "activate trigger", tenantID, name, "ActivateTrigger", db.Values{"version": db.Text(version), "by": db.Text(by)})
}

// RetireTrigger stops a trigger: no event fires it until ActivateTrigger. by is the person who does it. Runs that have started go on.
// The error is db.ErrNotFound if there is no such trigger.
func (s *Store) RetireTrigger(ctx context.Context, tenantID, name, by string) (Changed, error) {
	return s.change(ctx, "retire trigger", tenantID, name, "RetireTrigger", db.Values{"by": db.Text(by)})
}

func (s *Store) change(ctx context.Context, op, tenantID, name, query string, with db.Values) (Changed, error) {
	row, found, err := db.Batched[Changed](ctx, s.db, op, db.Query("LockTrigger", triggerKey(tenantID, name)), db.Query(query, triggerKey(tenantID, name).With(with)))
	if err == nil && !found {
		err = db.ErrNotFound
	}
	return row, err
}

// Trigger returns a version of a trigger, also if the trigger is retired. An empty version is the active one. The error
// is db.ErrNotFound if there is no such version.
func (s *Store) Trigger(ctx context.Context, tenantID, name, version string) (d trigger.Document, retired bool, err error) {
	const op = "trigger"
	row, found, err := db.First[documentRow](ctx, s.db, op, db.Query("TriggerDocument", triggerKey(tenantID, name).With(db.Values{"version": db.Text(version)})))
	switch {
	case err != nil:
	case !found:
		err = db.ErrNotFound
	default:
		d, err = db.DecodedStrict[trigger.Document](op, json.RawMessage(row.Document))
	}
	return d, row.Retired, err
}

// TriggerToFire returns the active version of a trigger. The error is trigger.ErrNotFound if there is none or the
// trigger is retired. The version of a retired trigger is returned with the error.
func (s *Store) TriggerToFire(ctx context.Context, tenantID, name string) (trigger.Document, error) {
	d, retired, err := s.Trigger(ctx, tenantID, name, "")
	if errors.Is(err, db.ErrNotFound) || err == nil && retired {
		return d, trigger.ErrNotFound
	}
	return d, err
}

// HasStarted reports whether the record says that an event has started a run.
func (s *Store) HasStarted(ctx context.Context, tenantID, name, eventID string) (bool, error) {
	row, _, err := db.First[startedRow](ctx, s.db, "trigger event", db.Query("HasStarted", triggerKey(tenantID, name).With(db.Values{"event_id": db.Text(eventID)})))
	return row.Started, err
}

// RecordTriggerEvent records the run that an event has started, or the reason why it started none. The record of an event that has started
// a run does not change.
func (s *Store) RecordTriggerEvent(ctx context.Context, r trigger.Record) error {
	_, err := s.db.Exec(ctx, "record trigger event", db.Query("RecordTriggerEvent", triggerKey(r.TenantID, r.Name).With(db.Values{
		"event_id": db.Text(r.EventID), "version": db.Text(r.Version), "run_id": db.Text(r.RunID), "reason": db.Text(r.Reason), "keep": keepEvents,
	})))
	return err
}

// Listed is a trigger and its active version.
type Listed struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Source  string `json:"on"`
	Agent   string `json:"agent"`
	Actor   string `json:"actor"`
	Retired bool   `json:"retired"`
	// Waiting counts the events that wait for their runs, up to 10000.
	Waiting int64 `json:"waiting"`
	// WaitingSince is when the first of these events was queued.
	WaitingSince *time.Time `json:"waitingSince,omitempty"`
	// By is the person who activated the version or retired the trigger.
	By string `json:"by"`
	// At is the time of this.
	At time.Time `json:"at"`
}

// Triggers returns the triggers of a tenant by name, at most 500.
func (s *Store) Triggers(ctx context.Context, tenantID string) ([]Listed, error) {
	return db.All[Listed](ctx, s.db, "triggers", db.Query("Triggers", db.Values{"tenant_id": db.Text(tenantID), "max": db.MaxList}))
}

// Happened is the record of an event.
type Happened struct {
	EventID string `json:"eventId"`
	Version string `json:"version"`
	// RunID is the run that the event started; empty if it started none.
	RunID string `json:"runId,omitempty"`
	// Reason says why the event started no run; empty if it started a run.
	Reason  string    `json:"reason,omitempty"`
	FirstAt time.Time `json:"firstAt"`
	LastAt  time.Time `json:"lastAt"`
}

// TriggerEvents returns the records of the events of a trigger, the last first, at most 500.
func (s *Store) TriggerEvents(ctx context.Context, tenantID, name string) ([]Happened, error) {
	return db.All[Happened](ctx, s.db, "trigger events", db.Query("TriggerEvents", triggerKey(tenantID, name).With(db.Values{"max": db.MaxList})))
}
