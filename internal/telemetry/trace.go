package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	temporal "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
)

// Names of spans, beside those of Temporal's interceptor.
const (
	spanLease   = "broker.lease"
	spanRefresh = "broker.refresh"
	spanSQL     = "sql "
)

// Client returns the options of a Temporal client with metrics of the SDK, and with an interceptor that carries the context of a trace in
// headers of Temporal. The interceptor schedules nothing.
func (t *Telemetry) Client(o client.Options) (client.Options, error) {
	if t.measures {
		o.MetricsHandler = typed{t.types, temporal.NewMetricsHandler(temporal.MetricsHandlerOptions{
			Meter: t.meters.Meter("temporal-sdk-go"), UseMonotonicCounters: true,
			OnError: func(error) {}, // the metric is missing
		})}
	}
	if !t.traces {
		return o, nil
	}
	inner, err := temporal.NewTracer(temporal.TracerOptions{
		Tracer: t.tracer, DisableBaggage: true, AllowInvalidParentSpans: true, DisableQueryTracing: true,
		TextMapPropagator: propagation.TraceContext{}, SpanStarter: startSpan,
	})
	if err != nil {
		return o, err
	}
	o.Interceptors = append([]interceptor.ClientInterceptor{interceptor.NewTracingInterceptor(tracer{inner})}, o.Interceptors...)
	return o, nil
}

// tracer gives the span of a workflow run an id that follows from the id of the run. A run that another worker, or the same one after an
// eviction, continues has the same span again, so that what it does before and after a wait of days is below one span.
type tracer struct{ interceptor.Tracer }

// runOperation is the name that Temporal's interceptor gives to the span of a workflow run.
const runOperation = "RunWorkflow"

// runMark is an entry of a tracestate that never leaves this process: it tells startSpan the id of the run.
const runMark = "pawlrun"

// StartSpan starts a span.
func (t tracer) StartSpan(o *interceptor.TracerStartSpanOptions) (interceptor.TracerSpan, error) {
	if o.Operation != runOperation {
		return t.Tracer.StartSpan(o)
	}
	marked := *o
	carrier := map[string]string{}
	var parent trace.SpanContext
	if ref, ok := o.Parent.(interface {
		IsValid() bool
		TraceID() trace.TraceID
		SpanID() trace.SpanID
		TraceFlags() trace.TraceFlags
		TraceState() trace.TraceState
	}); ok && ref.IsValid() {
		parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: ref.TraceID(), SpanID: ref.SpanID(), TraceFlags: ref.TraceFlags(), TraceState: ref.TraceState(), Remote: true})
	} else {
		var traceID trace.TraceID
		sum := sha256.Sum256([]byte("trace " + o.Tags["temporalRunID"]))
		copy(traceID[:], sum[:])
		// A span needs a parent to be marked; startSpan removes this one.
		parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: rootParent, Remote: true})
	}
	state, err := parent.TraceState().Insert(runMark, hex.EncodeToString(spanIDOf(o.Tags["temporalRunID"])))
	if err != nil {
		return t.Tracer.StartSpan(o)
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent.WithTraceState(state))
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(carrier))
	if marked.Parent, err = t.UnmarshalSpan(carrier); err != nil {
		return t.Tracer.StartSpan(o)
	}
	return t.Tracer.StartSpan(&marked)
}

// rootParent is the parent of a marked span that has none.
var rootParent = trace.SpanID{'p', 'a', 'w', 'l', 'r', 'o', 'o', 't'}

func spanIDOf(runID string) []byte {
	sum := sha256.Sum256([]byte("span " + runID))
	return sum[:8]
}

type fixedKey struct{}

// fixed are the ids of the next span.
type fixed struct {
	traceID trace.TraceID
	spanID  trace.SpanID
}

// startSpan starts a span for Temporal's interceptor. The span keeps no text of an error.
func startSpan(ctx context.Context, t trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
	parent := trace.SpanContextFromContext(ctx)
	if mark := parent.TraceState().Get(runMark); mark != "" {
		id, err := hex.DecodeString(mark)
		if err == nil && len(id) == 8 {
			ctx = context.WithValue(ctx, fixedKey{}, fixed{parent.TraceID(), trace.SpanID(id)})
		}
		plain := parent.WithTraceState(parent.TraceState().Delete(runMark))
		if parent.SpanID() == rootParent {
			plain = trace.SpanContext{}
		}
		ctx = trace.ContextWithSpanContext(ctx, plain)
	}
	_, span := t.Start(ctx, name, options...)
	return quiet{span}
}

// quiet is a span without texts of errors, which may quote values.
type quiet struct{ trace.Span }

// RecordError does nothing.
func (quiet) RecordError(error, ...trace.EventOption) {}

// SetStatus sets the status without its text.
func (q quiet) SetStatus(code codes.Code, _ string) { q.Span.SetStatus(code, "") }

// ids makes random ids, or those that the context fixes.
type ids struct{}

// NewIDs returns the ids of a span without a parent.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if f, ok := ctx.Value(fixedKey{}).(fixed); ok {
		return f.traceID, f.spanID
	}
	var traceID trace.TraceID
	for !traceID.IsValid() {
		fill(traceID[:8])
		fill(traceID[8:])
	}
	return traceID, g.NewSpanID(ctx, traceID)
}

// NewSpanID returns the id of a span with a parent.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if f, ok := ctx.Value(fixedKey{}).(fixed); ok {
		return f.spanID
	}
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

// fill sets 8 bytes. Ids of spans need not be secret.
func fill(b []byte) {
	n := rand.Uint64() //nolint:gosec // see above
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
}

// Statement makes the span of a round trip to the database below the span of ctx. It has the name of the statement, and no SQL,
// argument or text of an error. Round trips without a span above them, such as those of the relay, have none.
func (t *Telemetry) Statement(ctx context.Context, statement string) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, func(error) {}
	}
	if statement == "" {
		statement = "other"
	}
	ctx, span := t.tracer.Start(ctx, spanSQL+statement, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(semconv.DBSystemNamePostgreSQL))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Traces reports whether there are spans.
func (t *Telemetry) Traces() bool { return t.traces }
