package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// backlogEvery is how long a count of what waits is kept, also one that failed.
	backlogEvery = 10 * time.Second
	// backlogTime bounds one count of what waits.
	backlogTime = time.Second
	// backlogMost bounds each count.
	backlogMost = 10_000
)

// Store has what gauges show.
type Store interface {
	Backlogs(ctx context.Context, namespace string, limit int) (reads.Backlogs, error)
	Stat() db.Stat
}

// Policy sets the digest of the active policy.
func (t *Telemetry) Policy(digest string) { t.policy.Store(&digest) }

// Watch adds the gauges of the database, until stop is called. The calls that wait are those of a namespace of Temporal.
func (t *Telemetry) Watch(store Store, namespace string, log *slog.Logger) (stop func(), err error) {
	if !t.measures {
		return func() {}, nil
	}
	counted := &backlog{store: store, namespace: namespace, log: log}
	registration, err := t.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if digest := t.policy.Load(); digest != nil {
			o.ObserveInt64(t.policyInfo, 1, metric.WithAttributes(keyDigest.String(*digest)))
		}
		s := store.Stat()
		o.ObserveInt64(t.poolMax, int64(s.Max))
		o.ObserveInt64(t.poolConns, int64(s.InUse), metric.WithAttributes(keyState.String("used")))
		o.ObserveInt64(t.poolConns, int64(s.Idle), metric.WithAttributes(keyState.String("idle")))
		o.ObserveInt64(t.poolWaits, s.Waits)
		o.ObserveFloat64(t.poolWaited, s.Waited.Seconds())
		b, ok := counted.now(ctx)
		if !ok {
			return nil
		}
		for kind, n := range map[string]int64{"ending": b.Endings, "quota": b.Quota, "place": b.Places, "shared_read": b.Shared} {
			o.ObserveInt64(t.waiting, n, metric.WithAttributes(keyKind.String(kind)))
		}
		for _, w := range []struct {
			kind  string
			n     int64
			since *time.Time
		}{
			{"outbox", b.Messages, b.MessagesSince}, {"notice", b.Notices, b.NoticesSince}, {"approval", b.Approvals, b.ApprovalsSince},
			{"outcome_unknown", b.Unknown, b.UnknownSince}, {"call", b.Calls, b.CallsSince},
			{"audit", b.Unsealed, b.UnsealedSince}, {"trigger", b.TriggerEvents, b.TriggerEventsSince},
		} {
			kind := metric.WithAttributes(keyKind.String(w.kind))
			o.ObserveInt64(t.waiting, w.n, kind)
			age := 0.0
			if w.since != nil {
				age = max(b.Now.Sub(*w.since), 0).Seconds()
			}
			o.ObserveFloat64(t.waitingAge, age, kind)
		}
		return nil
	}, t.policyInfo, t.poolMax, t.poolConns, t.poolWaits, t.poolWaited, t.waiting, t.waitingAge)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = registration.Unregister()
		counted.close()
	}, nil
}

// backlog keeps the last count of what waits. All readers of metrics share it.
type backlog struct {
	store     Store
	namespace string
	log       *slog.Logger

	mu     sync.Mutex
	at     time.Time
	last   reads.Backlogs
	ok     bool
	failed bool
	closed bool
}

// now returns a count that is at most backlogEvery old. ok is false if the database did not give it.
func (b *backlog) now(ctx context.Context) (_ reads.Backlogs, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return reads.Backlogs{}, false
	}
	if time.Since(b.at) < backlogEvery {
		return b.last, b.ok
	}
	ctx, cancel := context.WithTimeout(ctx, backlogTime)
	defer cancel()
	last, err := b.store.Backlogs(ctx, b.namespace, backlogMost)
	b.last, b.ok, b.at = last, err == nil, time.Now()
	if err != nil && !b.failed {
		b.log.WarnContext(ctx, "what waits could not be counted; its metrics are missing until it can", "reason", errs.Reason(err))
	}
	b.failed = err != nil
	return b.last, b.ok
}

// close returns when no count runs any more.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
