package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
)

// inboxes is a sender that records the messages that it gets.
type inboxes struct {
	mu       sync.Mutex
	messages []outbox.Message
	// answer returns the answer to a message. Without it, every message succeeds.
	answer func(m outbox.Message) error
}

func (s *inboxes) Send(_ context.Context, m outbox.Message) error {
	s.mu.Lock()
	s.messages = append(s.messages, m)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(m)
	}
	return nil
}

func (s *inboxes) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.messages)
}

// relay runs a relay until the test ends, and returns its log.
func (b bench) relay(sender outbox.Sender, poll time.Duration) *lockedBuffer {
	log := &lockedBuffer{}
	ctx, stop := context.WithCancel(b.t.Context())
	stopped := make(chan error, 1)
	r := postgres.NewRelay(b.Store, namespace, sender, slog.New(slog.NewTextHandler(log, nil))).Poll(poll)
	go func() { stopped <- r.Run(ctx) }()
	b.t.Cleanup(func() {
		stop()
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
	})
	return log
}

type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const listeners = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen pawl_outbox' AND pid <> pg_backend_pid()`

func (b bench) post(n int, notify bool) {
	b.t.Helper()
	b.sql(`INSERT INTO outbox (kind, workflow_id, signal, payload) SELECT 'signal', 'w' || i, 'recheck', '{"i":1}' FROM generate_series(1, $1::int) i`, n)
	if notify {
		b.sql(`SELECT pg_notify('pawl_outbox', '')`)
	}
}

// TestTwoRelaysSendOnce: a message that one relay has taken is not sent by another one.
func TestTwoRelaysSendOnce(t *testing.T) {
	b := open(t)
	sender := &inboxes{}
	b.relay(sender, 10*time.Millisecond)
	b.relay(sender, 10*time.Millisecond)
	for range 5 {
		b.post(100, true)
	}
	until(t, "everything is sent", func() bool { return value[int](b, `SELECT count(*) FROM outbox WHERE sent_at IS NULL`) == 0 })
	seen := map[int64]int{}
	for _, m := range sender.messages {
		seen[m.ID]++
		if m.Signal != "recheck" || m.Kind != "signal" || string(m.Payload) != `{"i":1}` || m.Attempts != 1 {
			t.Fatalf("%+v", m)
		}
	}
	if len(seen) != 500 || sender.count() != 500 {
		t.Errorf("%d messages sent %d times", len(seen), sender.count())
	}
}

// TestRelayOfItsNamespace: a relay sends no message for a call of another Temporal namespace, which its Temporal client would not find.
func TestRelayOfItsNamespace(t *testing.T) {
	b := open(t)
	b.post(3, false)
	b.sql(`UPDATE outbox SET namespace = CASE workflow_id WHEN 'w1' THEN 'elsewhere' WHEN 'w2' THEN $1 ELSE '' END`, namespace)
	b.relay(&inboxes{}, 10*time.Millisecond)
	until(t, "the other messages are sent", func() bool { return value[int](b, `SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL`) == 2 })
	if left := value[string](b, `SELECT string_agg(workflow_id || attempts, ' ') FROM outbox WHERE sent_at IS NULL`); left != "w10" {
		t.Errorf("left: %s", left)
	}
}

// TestNotificationWakesTheRelay: a notification makes the relay send a message long before its next poll, which is an hour away.
func TestNotificationWakesTheRelay(t *testing.T) {
	b := open(t)
	sender := &inboxes{}
	b.relay(sender, time.Hour)
	until(t, "the relay listens", func() bool { return value[int](b, listeners) == 1 })
	b.post(1, true)
	until(t, "the message is sent", func() bool { return sender.count() == 1 })
}

// TestRelayListensAgain: a relay whose connection is killed listens on another one. Its next poll is an hour away.
func TestRelayListensAgain(t *testing.T) {
	b := open(t)
	sender := &inboxes{}
	log := b.relay(sender, time.Hour)
	until(t, "the relay listens", func() bool { return value[int](b, listeners) == 1 })
	pid := value[int](b, strings.Replace(listeners, "count(*)", "pid", 1))
	b.sql(`SELECT pg_terminate_backend($1)`, pid)
	b.post(1, true)
	until(t, "the relay listens on another connection", func() bool { return value[int](b, listeners+fmt.Sprintf(" AND pid <> %d", pid)) == 1 })
	until(t, "what came meanwhile is sent", func() bool { return sender.count() == 1 })
	b.post(1, true)
	until(t, "what comes now is sent", func() bool { return sender.count() == 2 })
	if !contains(log.String(), "postgres: listen: 57P01") {
		t.Error(log.String())
	}
}

func TestPollingFindsUnnotifiedMessage(t *testing.T) {
	b := open(t)
	sender := &inboxes{}
	b.relay(sender, 10*time.Millisecond)
	b.post(3, false)
	until(t, "the messages are sent", func() bool { return sender.count() == 3 })
}

func TestMessageWithoutRecipientIsDone(t *testing.T) {
	b := open(t)
	b.relay(&inboxes{answer: func(outbox.Message) error { return fmt.Errorf("signal: %w", outbox.ErrGone) }}, 10*time.Millisecond)
	b.post(1, true)
	until(t, "the message is done", func() bool {
		return value[int](b, `SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL AND last_error = 'gone'`) == 1
	})
}

// noting makes the database record each failure that is written into a table: the number of the attempt, the error, and the time until the next attempt.
func (b bench) noting(table string) {
	b.t.Helper()
	b.sql(`CREATE TABLE noted (attempts int, error text, away interval)`)
	b.sql(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
		'BEGIN INSERT INTO noted VALUES (NEW.attempts, NEW.last_error, NEW.next_at - now()); RETURN NULL; END'`)
	b.sql(`CREATE TRIGGER note AFTER UPDATE OF last_error ON ` + table + ` FOR EACH ROW
		WHEN (NEW.last_error IS NOT NULL AND NEW.sent_at IS NULL) EXECUTE FUNCTION note()`)
}

// TestFailedMessageComesAgain: a message that fails is sent again, with a longer pause each time. The record keeps the kind of the error without its text.
func TestFailedMessageComesAgain(t *testing.T) {
	b := open(t)
	sender := &inboxes{answer: func(m outbox.Message) error {
		if m.Attempts < 3 {
			return errors.New("canary")
		}
		return nil
	}}
	b.noting("outbox")
	log := b.relay(sender, 10*time.Millisecond)
	b.post(1, true)
	for attempt := 1; attempt < 3; attempt++ {
		until(t, "the failure is noted", func() bool {
			return value[int](b, `SELECT count(*) FROM noted WHERE attempts = $1 AND away > $2 * interval '0.5 s' AND away < interval '5 s'`, attempt, attempt) == 1
		})
		if got := value[string](b, `SELECT error FROM noted WHERE attempts = $1`, attempt); contains(got, "canary") || contains(log.String(), "canary") {
			t.Errorf("%s; %s", got, log.String())
		}
		b.sql(`UPDATE outbox SET next_at = now() WHERE attempts = $1`, attempt)
	}
	until(t, "it is sent", func() bool { return value[int](b, `SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL`) == 1 })
	if sender.count() != 3 {
		t.Errorf("sent %d times", sender.count())
	}
}

// TestRelayThatDiedLosesNothing: a message that a dead relay has taken is sent by another relay, after the lease of the message.
func TestRelayThatDiedLosesNothing(t *testing.T) {
	b := open(t)
	b.post(1, false)
	b.sql(`UPDATE outbox SET attempts = 1, next_at = now() + interval '1 hour'`)
	sender := &inboxes{}
	b.relay(sender, 10*time.Millisecond)
	b.post(1, true)
	until(t, "the fresh message is sent", func() bool { return value[int](b, `SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL`) == 1 })
	if n := sender.count(); n != 1 {
		t.Errorf("sent %d times: the lease was not respected", n)
	}
	b.sql(`UPDATE outbox SET next_at = now() WHERE sent_at IS NULL`)
	until(t, "the lease is over and the message sent", func() bool { return sender.count() == 2 })
}

// TestStoppedRelayNotesWhatItSent: a relay that stops while it sends a message records that the message was sent, so that it is not sent twice.
func TestStoppedRelayNotesWhatItSent(t *testing.T) {
	b := open(t)
	ctx, stop := context.WithCancel(t.Context())
	r := postgres.NewRelay(b.Store, namespace, &inboxes{answer: func(outbox.Message) error { stop(); return nil }}, slog.New(slog.DiscardHandler))
	b.post(1, false)
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := value[int](b, `SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL`); n != 1 {
		t.Error("the delivery was not noted")
	}
}

func TestSentMessagesArePruned(t *testing.T) {
	b := open(t)
	b.post(3, false)
	b.sql(`UPDATE outbox SET sent_at = now() - interval '6 days' WHERE workflow_id = 'w1'`)
	b.sql(`UPDATE outbox SET sent_at = now() - interval '8 days' WHERE workflow_id = 'w2'`)
	postgres.NewRelay(b.Store, namespace, &inboxes{}, slog.New(slog.DiscardHandler)).Prune(t.Context())
	if got := value[string](b, `SELECT string_agg(workflow_id, ' ' ORDER BY id) FROM outbox`); got != "w1 w3" {
		t.Errorf("left: %s", got)
	}
}
