package traceparent_test

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/internal/traceparent"
)

// TestRequest: the header has the ids of the trace and nothing of other vendors; without a trace nothing changes.
func TestRequest(t *testing.T) {
	t.Parallel()
	state, err := trace.ParseTraceState("vendor=private")
	if err != nil {
		t.Fatal(err)
	}
	traced := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
	req, err := http.NewRequestWithContext(traced, http.MethodGet, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Tracestate", "other=1")
	sent := traceparent.Request(req)
	if len(sent.Header) != 1 || sent.Header.Get("Traceparent") != "00-01000000000000000000000000000000-0200000000000000-01" {
		t.Errorf("the header is %v", sent.Header)
	}
	if len(req.Header) != 1 || req.Header.Get("Traceparent") != "" {
		t.Errorf("the request of the caller has %v", req.Header)
	}
	if plain := req.WithContext(t.Context()); traceparent.Request(plain) != plain {
		t.Error("without a trace it is another request")
	}
}
