package telemetry

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// receiver is the receiver for OTLP of the OpenTelemetry Collector. It keeps what it receives.
type receiver struct {
	t       *testing.T
	traces  consumertest.TracesSink
	metrics consumertest.MetricsSink
}

// receive starts a receiver for a protocol, grpc or http/protobuf, and sets the variables with which workers send to it.
func receive(t *testing.T, protocol string) *receiver {
	t.Helper()
	r, at := &receiver{t: t}, devstacktest.FreeAddress(t)
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	kind, _, _ := strings.Cut(protocol, "/")
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{kind: map[string]any{"endpoint": at}}}).Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	settings := receivertest.NewNopSettings(factory.Type())
	traces, err := factory.CreateTraces(t.Context(), settings, config, &r.traces)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := factory.CreateMetrics(t.Context(), settings, config, &r.metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []interface {
		Start(context.Context, component.Host) error
		Shutdown(context.Context) error
	}{traces, metrics} {
		if err := part.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := part.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+at)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	return r
}

// spans returns the spans that were received, by their ids. A span that was sent twice counts once.
func (r *receiver) spans() map[pcommon.SpanID]ptrace.Span {
	found := map[pcommon.SpanID]ptrace.Span{}
	for _, sent := range r.traces.AllTraces() {
		for _, resource := range sent.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					found[s.SpanID()] = s
				}
			}
		}
	}
	return found
}

// metricNames returns the names of the metrics that were received.
func (r *receiver) metricNames() map[string]bool {
	found := map[string]bool{}
	for _, sent := range r.metrics.AllMetrics() {
		for _, resource := range sent.ResourceMetrics().All() {
			for _, scope := range resource.ScopeMetrics().All() {
				for _, m := range scope.Metrics().All() {
					found[m.Name()] = true
				}
			}
		}
	}
	return found
}

// text returns all that was received, with resources, scopes and attributes.
func (r *receiver) text() string {
	r.t.Helper()
	var all strings.Builder
	for _, sent := range r.traces.AllTraces() {
		data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(sent)
		if err != nil {
			r.t.Fatal(err)
		}
		all.Write(data)
	}
	for _, sent := range r.metrics.AllMetrics() {
		data, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(sent)
		if err != nil {
			r.t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

// attribute returns an attribute of a span, a string or an int64, or nil.
func attribute(s ptrace.Span, key string) any {
	if s == (ptrace.Span{}) {
		return nil
	}
	if value, ok := s.Attributes().Get(key); ok {
		return value.AsRaw()
	}
	return nil
}
