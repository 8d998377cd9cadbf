package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"

	"github.com/pawl-run/pawl/activities/connection"
	"github.com/pawl-run/pawl/broker"
)

// Leases measures the leases of a broker.
func (t *Telemetry) Leases(next connection.Broker) connection.Broker {
	if next == nil || !t.measures && !t.traces {
		return next
	}
	return leases{next, t}
}

type leases struct {
	connection.Broker
	t *Telemetry
}

// Lease leases a connection.
func (l leases) Lease(ctx context.Context, r broker.Request) (*broker.Lease, broker.Answer, error) {
	began := time.Now()
	ctx, span := l.t.tracer.Start(ctx, spanLease)
	defer span.End()
	lease, answer, err := l.Broker.Lease(ctx, r)
	result := string(answer)
	if err != nil {
		result = "error"
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(spanOutcome.String(result))
	if l.t.measures {
		l.t.leases.Add(ctx, 1, metric.WithAttributes(keyOutcome.String(result)))
		l.t.leaseTime.Record(ctx, time.Since(began).Seconds())
	}
	return lease, answer, err
}

// Refreshes counts the refreshes of tokens that a broker stores.
func (t *Telemetry) Refreshes(next broker.Store) broker.Store {
	if !t.measures {
		return next
	}
	return refreshes{next, t}
}

type refreshes struct {
	broker.Store
	t *Telemetry
}

func (s refreshes) count(ctx context.Context, result string) {
	s.t.refreshes.Add(ctx, 1, metric.WithAttributes(keyOutcome.String(result)))
}

// StoreRefreshed stores a token.
func (s refreshes) StoreRefreshed(ctx context.Context, r broker.Refreshed) (broker.StoreAnswer, error) {
	answer, err := s.Store.StoreRefreshed(ctx, r)
	if err == nil {
		s.count(ctx, string(answer))
	}
	return answer, err
}

// FailRefresh ends a refresh without a token.
func (s refreshes) FailRefresh(ctx context.Context, f broker.FailedRefresh) error {
	err := s.Store.FailRefresh(ctx, f)
	result := "failed"
	if f.Lost {
		result = string(broker.NeedsReauth)
	}
	s.count(ctx, result)
	return err
}
