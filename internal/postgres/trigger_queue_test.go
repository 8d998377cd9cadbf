package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
)

// applies applies a trigger. The options are the keys that its source has.
func (b bench) applies(tenantID, name, on, options string) {
	b.t.Helper()
	d, err := trigger.Read("t.yaml", []byte("name: "+name+"\ntenant: "+tenantID+"\nactor: agent:watcher\nagent: watcher\non: "+on+"\n"+options+"\nprompt: go\n"))
	if err == nil {
		_, err = b.ApplyTrigger(b.t.Context(), d, "user:root")
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// queues puts events into the queue of a trigger, a second apart, the first an hour ago.
func (b bench) queues(tenantID, name string, n int) {
	b.t.Helper()
	b.sql(`INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data, source, queued_at, next_at)
		SELECT $1, $2, to_char(n, 'fm00000'), 'n', '{}', 'postgres', now() - interval '1 hour' + n * interval '1 second', now() - interval '1 hour' + n * interval '1 second'
		FROM generate_series(1, $3::int) n`, tenantID, name, n)
}

// starts runs TriggerEvents until stop is called.
func (b bench) starts(firer outbox.Firer) (stop func()) {
	b.t.Helper()
	events := postgres.NewTriggerEvents(b.Store, "n", firer, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(b.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- events.Run(ctx) }()
	return func() {
		cancel()
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
	}
}

func (f *fired) ids(name string) (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Name == name {
			ids = append(ids, e.EventID)
		}
	}
	slices.Sort(ids)
	return ids
}

func (f *fired) position(tenantID string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.IndexFunc(f.events, func(e outbox.TriggerEvent) bool { return e.TenantID == tenantID })
}

func noFailure(outbox.TriggerEvent) error { return nil }

// TestTenantsTakeTurns: the one event of a tenant is not behind the many older events of others.
func TestTenantsTakeTurns(t *testing.T) {
	b := open(t)
	for i := range 4 {
		flood := fmt.Sprintf("flood-%d", i)
		b.applies(flood, "t", "postgres", "")
		b.queues(flood, "t", 200)
	}
	b.applies("late", "t", "postgres", "")
	b.sql(`INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data, source) VALUES ('late', 't', 'one', 'n', '{}', 'postgres')`)
	firer := &fired{answer: noFailure}
	stop := b.starts(firer)
	until(t, "all events are handled", func() bool { return len(b.queued()) == 0 })
	stop()
	// A batch has 16 places for five tenants.
	if at := firer.position("late"); at < 0 || at >= 16 {
		t.Errorf("the event was number %d", at)
	}
	if n := len(firer.events); n != 801 {
		t.Errorf("%d events were handled", n)
	}
}

// TestQuotaOfTrigger: no more events than the tokens of the quota are taken, by all workers together, the oldest first. An event that is tried again
// takes no second token.
func TestQuotaOfTrigger(t *testing.T) {
	b := open(t)
	b.applies("acme", "bound", "postgres", "quota: {tokens: 7, every: 7h}")
	b.applies("acme", "free", "postgres", "")
	b.queues("acme", "bound", 20)
	firer := &fired{answer: func(e outbox.TriggerEvent) error {
		if e.Name == "bound" && e.Attempts == 1 {
			return errors.New("once")
		}
		return nil
	}}
	for range 3 {
		t.Cleanup(b.starts(firer))
	}
	// passes returns when the queue was read after now: older events of the tenant come first.
	passes := func(marker string) {
		t.Helper()
		b.sql(`INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data, source) VALUES ('acme', 'free', $1, 'n', '{}', 'postgres')`, marker)
		until(t, "the marker is handled, and its row is deleted", func() bool {
			return slices.Contains(firer.ids("free"), marker) && value[int](b, `SELECT count(*) FROM trigger_queue WHERE event_id = $1`, marker) == 0
		})
	}
	want := func(n int) {
		t.Helper()
		until(t, "the events are handled twice", func() bool { return len(firer.ids("bound")) >= 2*n })
		var wanted []string
		for i := range n {
			wanted = append(wanted, fmt.Sprintf("%05d", i+1), fmt.Sprintf("%05d", i+1))
		}
		if got := firer.ids("bound"); !slices.Equal(got, wanted) {
			t.Errorf("handled: %q", got)
		}
	}
	want(7)
	passes("a")
	passes("b")
	want(7)
	if left := value[int](b, `SELECT count(*) FROM trigger_queue WHERE name = 'bound' AND attempts = 0`); left != 13 {
		t.Errorf("%d events wait untouched", left)
	}
	listed, err := b.Triggers(t.Context(), "acme")
	if err != nil || len(listed) != 2 || listed[0].Waiting != 13 || listed[0].WaitingSince == nil || listed[1].Waiting != 0 || listed[1].WaitingSince != nil {
		t.Errorf("%+v, %v", listed, err)
	}
	// Two hours later.
	b.sql(`UPDATE quotas SET full_at = full_at - interval '2 hours' WHERE key LIKE 'trigger:bound:%'`)
	want(9)
	passes("c")
	want(9)
	// The active version decides.
	b.applies("acme", "bound", "postgres", "quota: {tokens: 10000, every: 1m}")
	want(20)
}

// TestDroppedEventsAreRecorded: an event that waits too long is dropped, and its row says so, unless the event has started a run.
func TestDroppedEventsAreRecorded(t *testing.T) {
	b := open(t)
	b.applies("acme", "t", "postgres", "quota: {tokens: 1, every: 30d}")
	b.queues("acme", "t", 3)
	version := value[string](b, `SELECT version FROM trigger_active`)
	for _, r := range []trigger.Record{{EventID: "00002", RunID: "run"}, {EventID: "00003", Reason: "earlier"}} {
		r.TenantID, r.Name, r.Version = "acme", "t", version
		if err := b.RecordTriggerEvent(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	b.sql(`UPDATE trigger_queue SET queued_at = now() - interval '8 days'`)
	postgres.NewTriggerEvents(b.Store, "n", &fired{answer: noFailure}, slog.New(slog.DiscardHandler)).Prune(t.Context())
	if got := strings.Join(b.lines(`SELECT '' AS at, 1 AS n, event_id || ' ' || coalesce(run_id, '') || coalesce(reason, '') AS line FROM trigger_events`), "\n"); got !=
		"00001 no run was started within 7 days\n00002 run\n00003 no run was started within 7 days" || len(b.queued()) != 0 {
		t.Errorf("%q, and in the queue %q", got, b.queued())
	}
}

// TestFireTrigger: a user with the right queues an event in its own transaction, for the tenants that the owner has given it.
func TestFireTrigger(t *testing.T) {
	b := open(t)
	b.applies("acme", "orders", "postgres", "")
	b.applies("globex", "orders", "postgres", "")
	b.watch("acme", "own", "{event: run_ended}")
	s := b.session(b.login("shop"))
	fire := func(of, name, event, data string) string {
		return fmt.Sprintf(`SELECT fire_trigger('%s', '%s', '%s', '%s')`, of, name, event, data)
	}
	wants := func(want bool, sql string) {
		t.Helper()
		var got bool
		if err := s.conn.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %t, %v", sql, got, err)
		}
	}
	refuses := func(want, sql string) {
		t.Helper()
		if state := s.state(sql); state != want {
			t.Errorf("%s: %q, want %q", sql, state, want)
		}
	}
	b.sql(`INSERT INTO role_tenants VALUES ('somebody_else', '*')`)
	refuses("42501", fire("acme", "orders", "1", "{}")) // no EXECUTE
	b.sql(`GRANT EXECUTE ON FUNCTION fire_trigger(text, text, text, json) TO ` + s.user)
	refuses("42501", fire("acme", "orders", "1", "{}")) // no tenant
	b.sql(`INSERT INTO role_tenants VALUES ($1, 'acme')`, s.user)
	refuses("42501", fire("globex", "orders", "1", "{}"))
	for _, event := range []string{"", "a b", "a\tb", "\u200b", "é", strings.Repeat("a", 257)} {
		refuses("22023", fire("acme", "orders", event, "{}"))
	}
	refuses("22023", `SELECT fire_trigger('acme', 'orders', NULL, '{}')`)
	refuses("22023", `SELECT fire_trigger('acme', 'orders', '1', NULL)`)
	refuses("22P02", fire("acme", "orders", "1", "{"))
	refuses("22023", fire("acme", "orders", "1", `"`+strings.Repeat("a", 256<<10)+`"`))
	// A schema of the caller must not decide what the function reads.
	refuses("", `CREATE TEMPORARY TABLE role_tenants AS SELECT session_user::text AS role_name, '*'::text AS tenant_id`)
	refuses("42501", fire("globex", "orders", "1", "{}"))
	wants(true, fire("acme", "orders", "1", `{"order":{"id":1}}`))
	wants(true, fire("acme", "orders", "1", `{"order":{"id":2}}`))
	wants(false, fire("acme", "own", "1", "{}"))
	wants(false, fire("acme", "missing", "1", "{}"))
	for _, sql := range []string{"BEGIN", fire("acme", "orders", "undone", "{}"), "ROLLBACK"} {
		refuses("", sql)
	}
	if got := value[string](b, `SELECT string_agg(concat_ws(' ', tenant_id, name, event_id, '<' || namespace || '>', data, source), ';') FROM trigger_queue`); got != `acme orders 1 <> {"order":{"id":1}} postgres` {
		t.Errorf("queued: %s", got)
	}
	// An event that has started its run is not queued again.
	if err := b.RecordTriggerEvent(t.Context(), trigger.Record{TenantID: "acme", Name: "orders", EventID: "2", Version: value[string](b, `SELECT version FROM trigger_active WHERE tenant_id = 'acme' AND name = 'orders'`), RunID: "run"}); err != nil {
		t.Fatal(err)
	}
	wants(true, fire("acme", "orders", "2", "{}"))
	b.queues("acme", "orders", trigger.MaxWaiting-1)
	wants(true, fire("acme", "orders", "1", "{}"))
	wants(false, fire("acme", "orders", "over", "{}"))
	wants(false, fire("acme", "orders", "over2", "{}"))
	if n, reasons := value[int](b, `SELECT count(*) FROM trigger_queue`), value[string](b, `SELECT string_agg(left(event_id, 11) || reason, ';') FROM trigger_events WHERE run_id IS NULL`); n != trigger.MaxWaiting ||
		reasons != "not-queued-events were not queued, because 10000 events of the trigger wait" {
		t.Errorf("%d, %s", n, reasons)
	}
	b.sql(`DELETE FROM trigger_queue`)
	if _, err := b.RetireTrigger(t.Context(), "acme", "orders", "user:root"); err != nil {
		t.Fatal(err)
	}
	wants(false, fire("acme", "orders", "3", "{}"))
	if got := b.queued(); len(got) != 0 {
		t.Errorf("queued: %q", got)
	}
}

// TestNotifications: two workers that listen queue each notification once, for the triggers of its channel, also after a connection was lost.
func TestNotifications(t *testing.T) {
	b := open(t)
	b.applies("acme", "orders", "postgres", "postgres: {channel: orders, id: id}")
	b.applies("globex", "digests", "postgres", "postgres: {channel: orders}")
	b.applies("acme", "others", "postgres", "postgres: {channel: others, id: id}")
	b.applies("acme", "quiet", "postgres", "")
	log := &lockedBuffer{}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 2)
	for range 2 {
		go func() { stopped <- b.NewNotifications(b.url, "n", slog.New(slog.NewTextHandler(log, nil))).Run(ctx) }()
	}
	const listeners = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pawl-triggers'`
	// reaches sends a notification until each worker has queued one, and deletes what it has queued.
	reaches := func(channel, queuedFor string) {
		t.Helper()
		n := 0
		until(t, "the workers listen on "+channel, func() bool {
			n++
			b.sql(`SELECT pg_notify($1, $2)`, channel, fmt.Sprintf(`{"id":"try-%d"}`, n))
			return value[int](b, listeners) == 2 && strings.Contains(strings.Join(b.queued(), " "), queuedFor+":try-")
		})
	}
	reaches("orders", "orders")
	reaches("others", "others")
	// Every worker has listened for as long as the channels are known.
	b.sql(`SELECT pg_notify('orders', '{"id":7,"text":"<|im_start|>"}')`)
	for _, bad := range []string{"{", "", `{"id":"` + strings.Repeat("a", 300) + `"}`, `{"other":1}`} {
		b.sql(`SELECT pg_notify('orders', $1)`, bad)
	}
	b.sql(`SELECT pg_notify('nobody', '{"id":8}'), pg_notify('others', '{"id":9}')`)
	until(t, "the notifications are queued", func() bool {
		got := strings.Join(b.queued(), " ")
		return strings.Contains(got, "orders:7") && strings.Contains(got, "others:9") &&
			value[int](b, `SELECT count(*) FROM trigger_events WHERE name = 'orders' AND event_id LIKE 'not-queued-%'`) == 1
	})
	if n := value[int](b, `SELECT count(*) FROM trigger_queue WHERE name = 'quiet' OR event_id = '8' OR namespace <> 'n' OR source <> 'postgres'`); n != 0 {
		t.Errorf("%d events were queued that nobody has sent", n)
	}
	until(t, "the other trigger of the channel has the event", func() bool {
		return value[int](b, `SELECT count(*) FROM trigger_queue WHERE name = 'digests' AND data::text LIKE '%im_start%' AND length(event_id) = 64`) == 1
	})
	// The connections are lost.
	b.sql(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pawl-triggers'`)
	b.sql(`DELETE FROM trigger_queue`)
	reaches("orders", "orders")
	if !contains(log.String(), "notifications for triggers are lost until the worker listens again") || contains(log.String(), "im_start") {
		t.Errorf("the log says %s", log)
	}
	// A retired trigger takes nothing.
	for _, name := range []string{"orders", "others"} {
		if _, err := b.RetireTrigger(t.Context(), "acme", name, "user:root"); err != nil {
			t.Fatal(err)
		}
	}
	b.sql(`DELETE FROM trigger_queue`)
	b.sql(`SELECT pg_notify('orders', '{"id":10}')`)
	until(t, "the other trigger has the event", func() bool { return len(b.queued()) > 0 })
	if got := strings.Join(b.queued(), " "); strings.Contains(got, "orders:") {
		t.Errorf("queued: %s", got)
	}
	stop()
	for range 2 {
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestNotificationsWait: while the database of Pawl takes no events, a worker holds its notifications, and queues them later.
func TestNotificationsWait(t *testing.T) {
	b := open(t)
	b.applies("acme", "orders", "postgres", "postgres: {channel: orders, id: id}")
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- b.NewNotifications(b.url, "n", slog.New(slog.DiscardHandler)).Run(ctx) }()
	n := 0
	until(t, "the worker listens", func() bool {
		n++
		b.sql(`SELECT pg_notify('orders', $1)`, fmt.Sprintf(`{"id":"try-%d"}`, n))
		return len(b.queued()) > 0
	})
	tx := b.holds(`LOCK TABLE trigger_queue IN ACCESS EXCLUSIVE MODE`)
	begun := time.Now()
	b.sql(`SELECT count(pg_notify('orders', json_build_object('id', n, 'text', repeat('x', 7000))::text)) FROM generate_series(1, 1000) n`)
	b.waitForLock()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "all events are queued", func() bool {
		return value[int](b, `SELECT count(*) FROM trigger_queue WHERE event_id NOT LIKE 'try-%'`) == 1000
	})
	t.Logf("1000 notifications of 7 KB in %s", time.Since(begun))
	// With too many events that wait, a notification is not queued, and the record says so.
	b.queues("acme", "orders", trigger.MaxWaiting-1000)
	b.sql(`SELECT pg_notify('orders', '{"id":"over"}')`)
	until(t, "the notification is refused", func() bool {
		return value[int](b, `SELECT count(*) FROM trigger_events WHERE event_id LIKE 'not-queued-%' AND reason = 'events were not queued, because 10000 events of the trigger wait'`) == 1
	})
	if n := value[int](b, `SELECT count(*) FROM trigger_queue WHERE event_id = 'over'`); n != 0 {
		t.Error("an event beyond the bound is queued")
	}
	// Nothing keeps the queue of the server.
	if usage := value[float64](b, `SELECT pg_notification_queue_usage()`); usage > 0.01 {
		t.Errorf("the queue of notifications is %g full", usage)
	}
	stop()
	<-stopped
}
