package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

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

// Refresh makes the span of a refresh of a token below the span of the caller that asked for it, and may end after it. The returned
// context has the span and nothing else of the caller.
func (t *Telemetry) Refresh(caller context.Context) (context.Context, func(error)) {
	ctx := context.Background()
	if !trace.SpanContextFromContext(caller).IsSampled() {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(caller)), spanRefresh)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Refreshes counts the refreshes of tokens that a broker stores, and gives their spans the last answer of the store.
func (t *Telemetry) Refreshes(next broker.Store) broker.Store {
	if !t.measures && !t.traces {
		return next
	}
	return refreshes{next, t}
}

type refreshes struct {
	broker.Store
	t *Telemetry
}

// BeginRefresh calls the store, and gives the span the answer of the store.
func (s refreshes) BeginRefresh(ctx context.Context, c broker.RefreshClaim) (broker.RefreshAnswer, error) {
	answer, err := s.Store.BeginRefresh(ctx, c)
	if err == nil {
		trace.SpanFromContext(ctx).SetAttributes(spanOutcome.String(string(answer)))
	}
	return answer, err
}

func (s refreshes) count(ctx context.Context, result string) {
	trace.SpanFromContext(ctx).SetAttributes(spanOutcome.String(result))
	s.t.refreshes.Add(ctx, 1, metric.WithAttributes(keyOutcome.String(result)))
}

// StoreRefreshed calls the store, and counts the refresh by the answer of the store. An error of the store counts as error.
func (s refreshes) StoreRefreshed(ctx context.Context, r broker.Refreshed) (broker.StoreAnswer, error) {
	answer, err := s.Store.StoreRefreshed(ctx, r)
	result := string(answer)
	if err != nil {
		result = "error"
	}
	s.count(ctx, result)
	return answer, err
}

// FailRefresh calls the store, and counts the refresh as failed or needs_reauth, also if the store returns an error.
func (s refreshes) FailRefresh(ctx context.Context, f broker.FailedRefresh) error {
	err := s.Store.FailRefresh(ctx, f)
	result := "failed"
	if f.Lost {
		result = string(broker.NeedsReauth)
	}
	s.count(ctx, result)
	return err
}
