package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// traced returns a Telemetry whose spans spans keeps.
func traced(t *testing.T) (tel *Telemetry, spans *tracetest.SpanRecorder) {
	t.Helper()
	tel, spans = started(t), tracetest.NewSpanRecorder()
	tel.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer(scope)
	return tel, spans
}

func attributes(s sdktrace.ReadOnlySpan) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes() {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// TestModelSpans: a request to a model has the attributes of the semantic conventions, for each format. A text that a provider sends in place of the
// name of a model, or of an error, is not in the span.
func TestModelSpans(t *testing.T) {
	t.Parallel()
	usage := wire.Usage{Reported: true, Input: 40, CacheRead: 60, CacheWrite: 7, Output: 9}
	for _, tc := range []struct {
		format   string
		response wire.Response
		err      error
		want     map[string]any
	}{
		{"openai", wire.Response{Model: "m-2026", Usage: usage, Text: "canary"}, nil, map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.response.model": "m-2026",
			"gen_ai.usage.input_tokens": int64(107), "gen_ai.usage.output_tokens": int64(9),
		}},
		{"responses", wire.Response{Model: "canary of a person"}, nil, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m"}},
		{"anthropic", wire.Response{Model: strings.Repeat("m", 101)}, nil, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m"}},
		{"gemini", wire.Response{}, nil, map[string]any{"gen_ai.operation.name": "generate_content", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "m"}},
		{"ollama", wire.Response{}, &provider.Error{Status: 529, Kind: "canary"}, map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "ollama", "gen_ai.request.model": "m", "error.type": "529",
		}},
	} {
		t.Run(tc.format, func(t *testing.T) {
			t.Parallel()
			tel, spans := traced(t)
			ctx, end := tel.Ask(t.Context(), tc.format, "m")
			if !trace.SpanContextFromContext(ctx).IsValid() {
				t.Error("the context of the request has no span")
			}
			end(tc.response, tc.err)
			if len(spans.Ended()) != 1 {
				t.Fatalf("%d spans", len(spans.Ended()))
			}
			s := spans.Ended()[0]
			got := attributes(s)
			if fmt.Sprint(got) != fmt.Sprint(tc.want) || s.SpanKind() != trace.SpanKindClient || s.Name() != fmt.Sprint(tc.want["gen_ai.operation.name"], " m") {
				t.Errorf("%s %q has %v, want %v", s.SpanKind(), s.Name(), got, tc.want)
			}
			if failed := s.Status().Code == codes.Error; failed != (tc.err != nil) || s.Status().Description != "" || len(s.Events()) > 0 {
				t.Errorf("the status is %+v, with the events %v", s.Status(), s.Events())
			}
		})
	}
}

// TestModelMetrics: requests and tokens are counted by model, of which the first count. An estimate of tokens is none.
func TestModelMetrics(t *testing.T) {
	t.Parallel()
	tel := started(t)
	ask := func(model string, r wire.Response, err error) {
		_, end := tel.Ask(t.Context(), "anthropic", model)
		end(r, err)
	}
	ask("m", wire.Response{Usage: wire.Usage{Reported: true, Input: 10, Output: 5}}, nil)
	ask("m", wire.Response{Usage: wire.Usage{Input: 1000}}, &provider.Error{Status: 500})
	for i := range 2 * maxModels {
		ask(fmt.Sprint("more-", i), wire.Response{}, nil)
	}
	_, end := tel.Ask(t.Context(), "unknown", "canary")
	end(wire.Response{}, nil)
	body := scrape(t, tel)
	const of = `gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",gen_ai_request_model=`
	for _, want := range []string{
		`gen_ai_client_token_usage_sum{` + of + `"m",gen_ai_token_type="input"} 10`, `gen_ai_client_token_usage_sum{` + of + `"m",gen_ai_token_type="output"} 5`,
		`gen_ai_client_operation_duration_seconds_count{` + of + `"m"} 1`, `gen_ai_client_operation_duration_seconds_count{error_type="500",` + of + `"m"} 1`,
		`gen_ai_client_operation_duration_seconds_count{` + of + `"other"} ` + fmt.Sprint(maxModels+1),
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if n := strings.Count(body, "gen_ai_client_operation_duration_seconds_count{"); n != maxModels+2 || strings.Contains(body, "canary") {
		t.Errorf("%d series of %d models", n, maxModels)
	}
}

// TestModelFaults: an error has a name of a fixed set.
func TestModelFaults(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"429": &provider.Error{Status: 429, Kind: "rate_limit_error"}, "cut": &provider.Error{Kind: "cut"}, "_OTHER": &provider.Error{Kind: "ann@example.com"},
		"canceled": fmt.Errorf("x: %w", context.Canceled), "timeout": context.DeadlineExceeded,
	} {
		if got := modelFault(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	if got := modelFault(errors.New("canary")); got != "_OTHER" {
		t.Errorf("an unknown error is %s", got)
	}
}

// TestModelsOfNobody: a worker that neither measures nor traces makes no span.
func TestModelsOfNobody(t *testing.T) {
	t.Parallel()
	tel, err := Start(t.Context(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := tel.Ask(t.Context(), "openai", "m")
	end(wire.Response{}, nil)
	if ctx != t.Context() {
		t.Error("the context is another one")
	}
}
