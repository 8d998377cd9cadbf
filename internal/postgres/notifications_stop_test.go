package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// stopsWhileQueueing listens for a trigger of each channel, sends a notification to each channel while the queue is locked, and stops the listener.
// unlock releases the queue, and stopped is closed when the listener has ended.
func (b bench) stopsWhileQueueing(channels ...string) (unlock func(), stopped chan struct{}) {
	b.t.Helper()
	for _, channel := range channels {
		b.applies("acme", channel, "postgres", "postgres: {channel: "+channel+", id: id}")
	}
	ctx, stop := context.WithCancel(b.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.NewNotifications(b.url, "n", slog.New(slog.DiscardHandler)).Run(ctx)
	}()
	last := ""
	until(b.t, "the worker listens", func() bool {
		last = fmt.Sprintf("try-%d", time.Now().UnixNano())
		b.sql(`SELECT pg_notify($1, json_build_object('id', $2::text)::text)`, channels[0], last)
		return len(b.queued()) > 0
	})
	until(b.t, "nothing is on its way", func() bool { return slices.Contains(b.queued(), channels[0]+":"+last) })
	tx := b.holds(`LOCK TABLE trigger_queue IN ACCESS EXCLUSIVE MODE`)
	b.sql(`SELECT pg_notify(channel, '{"id":7}') FROM unnest($1::text[]) channel`, channels)
	b.waitForLock()
	stop()
	return func() {
		if err := tx.Rollback(b.t.Context()); err != nil {
			b.t.Error(err)
		}
	}, ended
}

// TestNotificationsOnceMore: a notification is queued although the write of it that runs when the worker stops fails.
func TestNotificationsOnceMore(t *testing.T) {
	t.Parallel()
	b := open(t)
	unlock, stopped := b.stopsWhileQueueing("orders")
	b.sql(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	unlock()
	<-stopped
	if got := b.queued(); !slices.Contains(got, "orders:7") {
		t.Errorf("queued: %q", got)
	}
}

// TestNotificationsStop: a worker that cannot queue its notifications of several channels ends after the time that it has for all of them.
func TestNotificationsStop(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, stopped := b.stopsWhileQueueing("orders", "others", "third", "fourth")
	begun := time.Now()
	<-stopped
	if took := time.Since(begun); took > 25*time.Second { // 10 seconds for each channel are 40
		t.Errorf("it ends after %s", took)
	}
}
