package traceparent

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Set sets the header traceparent if ctx belongs to a trace.
func Set(ctx context.Context, h http.Header) {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return
	}
	h.Del("Tracestate")
	span = span.WithTraceState(trace.TraceState{}) // what other vendors have written there is for their own servers
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(ctx, span), propagation.HeaderCarrier(h))
}

// Request returns the request with the header that Set sets. It does not change req.
func Request(req *http.Request) *http.Request {
	if !trace.SpanContextFromContext(req.Context()).IsValid() {
		return req
	}
	sent := req.Clone(req.Context())
	Set(req.Context(), sent.Header)
	return sent
}
