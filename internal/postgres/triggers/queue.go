package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

type channelRow struct{ Channel string }

type documentOnlyRow struct{ Document string }

type queuedRow struct{ Refused int64 }

// tooMany is the reason why events were not queued.
var tooMany = "events were not queued, because " + trigger.ErrTooMany.Error()

// refusalID returns the event id of the record that events were not queued in this hour. A trigger has one such record for each hour, so that a flood
// of events does not fill the table.
func refusalID() string { return "not-queued-" + time.Now().UTC().Format("2006-01-02T15Z") }

// queueEvents queues events of a source for a trigger, for the workers of a namespace, and returns the number of those that were not queued because too
// many wait.
func (s *Store) queueEvents(ctx context.Context, d trigger.Document, namespace string, events []trigger.Event) (refused int64, err error) {
	ids, data := make([]string, len(events)), make([]string, len(events))
	for i, e := range events {
		ids[i], data[i] = e.ID, string(e.Data)
	}
	row, _, err := db.First[queuedRow](ctx, s.db, "queue events of a trigger", db.Query("QueueTriggerEvents", triggerKey(d.TenantID, d.Name).With(db.Values{
		"event_ids": ids, "data": data, "namespace": db.Text(namespace), "source": db.Text(string(d.On)), "most": trigger.MaxWaiting,
		"refusal_id": db.Text(refusalID()), "reason": db.Text(tooMany),
	})))
	return row.Refused, err
}

// FileTriggers returns up to limit active triggers with on: files.
func (s *Store) FileTriggers(ctx context.Context, limit int) ([]trigger.Document, error) {
	const op = "triggers of files"
	rows, err := db.All[documentOnlyRow](ctx, s.db, op, db.Query("FileTriggers", db.Values{"max": limit}))
	var all []trigger.Document
	for _, row := range rows {
		d, err := db.DecodedStrict[trigger.Document](op, json.RawMessage(row.Document))
		if err == nil && d.Files != nil { // a document that this release cannot read is for the workers of a later release
			all = append(all, d)
		}
	}
	return all, err
}

// QueueEvents queues events for a trigger, for the workers of a namespace. It does not queue an event that waits already or has started its run. If
// trigger.MaxWaiting events wait, it does not queue more, and records this.
func (s *Store) QueueEvents(ctx context.Context, d trigger.Document, namespace string, events []trigger.Event) error {
	_, err := s.queueEvents(ctx, d, namespace, events)
	return err
}

// QueueEvent queues one event as QueueEvents does. The error is trigger.ErrTooMany if too many events of the trigger wait.
func (s *Store) QueueEvent(ctx context.Context, d trigger.Document, namespace string, e trigger.Event) error {
	refused, err := s.queueEvents(ctx, d, namespace, []trigger.Event{e})
	if err == nil && refused > 0 {
		err = trigger.ErrTooMany
	}
	return err
}

// queueNotified queues the events of the payloads of a channel for the triggers of the channel.
func (n *Notifications) queueNotified(ctx context.Context, channel string, payloads []string) error {
	const op = "triggers of a channel"
	rows, err := db.All[documentOnlyRow](ctx, n.store.db, op, db.Query("TriggersOfChannel", db.Values{"channel": db.Text(channel), "max": db.MaxList}))
	if err != nil {
		return err
	}
	for _, row := range rows {
		d, err := db.DecodedStrict[trigger.Document](op, json.RawMessage(row.Document))
		if err != nil { // of a later release, whose workers queue its events
			n.log.WarnContext(ctx, "a trigger cannot be read", "reason", errs.Reason(err))
			continue
		}
		if err := n.queueFor(ctx, d, payloads); err != nil {
			return err
		}
	}
	return nil
}

// queueFor queues the events of the payloads for the trigger d. It logs and records that it has not queued some of them, because the trigger refuses
// their payload or because too many wait.
func (n *Notifications) queueFor(ctx context.Context, d trigger.Document, payloads []string) error {
	events, reason := []trigger.Event{}, ""
	for _, payload := range payloads {
		e, err := d.Notified(payload)
		var refused *trigger.RefusedError
		if errors.As(err, &refused) {
			reason = refused.Reason
			continue
		}
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	refused, err := n.store.queueEvents(ctx, d, n.namespace, events)
	if err != nil {
		return err
	}
	if refused > 0 {
		n.log.WarnContext(ctx, "events of a trigger were not queued", "tenant", d.TenantID, "trigger", d.Name, "count", refused, "reason", tooMany)
	}
	if reason == "" {
		return nil
	}
	n.log.WarnContext(ctx, "events of a trigger were not queued", "tenant", d.TenantID, "trigger", d.Name, "count", len(payloads)-len(events), "reason", reason)
	return n.store.RecordTriggerEvent(ctx, trigger.Record{TenantID: d.TenantID, Name: d.Name, Version: d.Version, EventID: refusalID(), Reason: reason})
}
