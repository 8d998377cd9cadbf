package telemetry

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/semconv/v1.37.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// modelName is a name of a model that a span may have: a response can have any text in its place.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}$`)

// api names a format of models as the semantic conventions for generative AI do.
type api struct {
	provider  genaiconv.ProviderNameAttr
	operation genaiconv.OperationNameAttr
}

// apis are the formats of agents. A server of another provider that has a format counts as the provider of the format.
var apis = map[string]api{
	"openai":    {genaiconv.ProviderNameOpenAI, genaiconv.OperationNameChat},
	"responses": {genaiconv.ProviderNameOpenAI, genaiconv.OperationNameChat},
	"anthropic": {genaiconv.ProviderNameAnthropic, genaiconv.OperationNameChat},
	"gemini":    {genaiconv.ProviderNameGCPGemini, genaiconv.OperationNameGenerateContent},
	"ollama":    {"ollama", genaiconv.OperationNameChat},
}

// Ask makes the span of a request to a model and measures it, as the semantic conventions for generative AI say. The function that it
// returns takes the response, or its parts that arrived before an error. Nothing of the request and of the response is in the span but names of
// models and counts of tokens. A request whose context ended was given up by the worker; it counts as an error.
func (t *Telemetry) Ask(ctx context.Context, format, model string) (context.Context, func(wire.Response, error)) {
	of, known := apis[format]
	if !known || !t.measures && !t.traces {
		return ctx, func(wire.Response, error) {}
	}
	began := time.Now()
	ctx, span := t.tracer.Start(ctx, string(of.operation)+" "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.GenAIOperationNameKey.String(string(of.operation)), semconv.GenAIProviderNameKey.String(string(of.provider)), semconv.GenAIRequestModel(model)))
	return ctx, func(r wire.Response, err error) {
		defer span.End()
		if modelName.MatchString(r.Model) {
			span.SetAttributes(semconv.GenAIResponseModel(r.Model))
		}
		input := r.Usage.Input + r.Usage.CacheRead + r.Usage.CacheWrite
		if r.Usage.Reported {
			span.SetAttributes(semconv.GenAIUsageInputTokens(int(input)), semconv.GenAIUsageOutputTokens(int(r.Usage.Output)))
		}
		labels := []attribute.KeyValue{semconv.GenAIRequestModel(t.models.label(model, nil))}
		if r.Usage.Reported { // an estimate is no measurement
			t.modelTokens.Record(ctx, input, of.operation, of.provider, genaiconv.TokenTypeInput, labels...)
			t.modelTokens.Record(ctx, r.Usage.Output, of.operation, of.provider, genaiconv.TokenTypeOutput, labels...)
		}
		if err != nil {
			fault := semconv.ErrorTypeKey.String(modelFault(err))
			span.SetStatus(codes.Error, "")
			span.SetAttributes(fault)
			labels = append(labels, fault)
		}
		t.modelTime.Record(ctx, time.Since(began).Seconds(), of.operation, of.provider, labels...)
	}
}

// modelFault returns a name for an error of a request to a model, from a closed set: canceled, timeout, the HTTP status, or one of some
// kinds of provider.Error. It returns _OTHER for every other error.
func modelFault(err error) string {
	var failed *provider.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case !errors.As(err, &failed):
	case failed.Status != 0:
		return strconv.Itoa(failed.Status)
	default:
		switch failed.Kind { // a provider can send any kind inside of a stream
		case "connection", "cut", "idle", "foreign_response", "redirect", "timeout", "overloaded_error", "api_error", "rate_limit_error":
			return failed.Kind
		}
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
