package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/pawl-run/pawl/internal/buildinfo"
)

const (
	// scope names the instrumentation of Pawl.
	scope = "github.com/pawl-run/pawl"
	// maxSeries bounds the series of one metric. More are added up in one with the label otel_metric_overflow.
	maxSeries = 10_000
	// scrapeTime bounds an answer of Handler.
	scrapeTime = 4 * time.Second
	// faultEvery is the least time between two lines in the log about exports that fail.
	faultEvery = time.Minute
)

// Options say what is measured, and where it goes. The variables OTEL_* of the specification of OpenTelemetry configure the
// exporters.
type Options struct {
	// Scraped says that Handler is served.
	Scraped bool
	// SendMetrics and SendTraces send metrics and traces by OTLP.
	SendMetrics, SendTraces bool
	// Getenv reads the environment. It is needed to send.
	Getenv func(string) string
	// Instance names this process, in what is sent by OTLP.
	Instance string
	// Types are the workflows and activities that the worker has.
	Types []string
	Log   *slog.Logger
}

// Telemetry has the metrics and traces of one worker. With the zero Options it measures nothing.
type Telemetry struct {
	instruments
	tracer trace.Tracer
	// timed is for histograms.
	tools, timed *toolLabels
	models       *firstLabels

	policy  atomic.Pointer[string]
	handler http.Handler
	// registry has what only /metrics serves. It is nil if the metrics are not served.
	registry prometheus.Registerer
	// measures says whether there are metrics, and traces whether there are spans.
	measures, traces bool
	types            []string

	// These providers are those of the SDK. Were they not behind interfaces, each package that has a type with a Telemetry in it, such as worker.Config, would
	// compile the generic code of the SDK again, and each program would link all of these copies.
	meters interface {
		metric.MeterProvider
		stopper
	}
	spans interface {
		trace.TracerProvider
		stopper
	}
}

// stopper is a provider that sends what it has, and stops.
type stopper interface {
	Shutdown(ctx context.Context) error
}

// Start makes the exporters. It connects to no server: an exporter that reaches none tries again.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	t := &Telemetry{
		tracer: tracenoop.NewTracerProvider().Tracer(scope), tools: newToolLabels(maxTools), timed: newToolLabels(maxTimedTools),
		models: newFirstLabels(maxModels), measures: o.Scraped || o.SendMetrics, traces: o.SendTraces, types: o.Types,
	}
	var err error
	if !t.measures {
		if t.instruments, err = newInstruments(metricnoop.NewMeterProvider().Meter(scope)); err != nil {
			return nil, err
		}
	}
	if !t.measures && !t.traces {
		return t, nil
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("pawl-worker"), semconv.ServiceVersion(buildinfo.Current().Version), semconv.ServiceInstanceID(o.Instance)),
		resource.WithFromEnv(),
	)
	if err != nil && about == nil {
		return nil, fmt.Errorf("config: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if o.SendMetrics || o.SendTraces {
		reportFaults(o.Log)
	}
	if t.measures {
		if err := t.startMetrics(ctx, o, about); err != nil {
			return nil, err
		}
	}
	if t.traces {
		if err := t.startTraces(ctx, o, about); err != nil {
			t.Close(ctx)
			return nil, err
		}
	}
	return t, nil
}

func (t *Telemetry) startMetrics(ctx context.Context, o Options, about *resource.Resource) (err error) {
	options := []sdkmetric.Option{
		sdkmetric.WithResource(about), sdkmetric.WithView(temporalView), sdkmetric.WithCardinalityLimit(maxSeries),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter),
	}
	if o.Scraped {
		registry := prometheus.NewRegistry()
		t.registry = registry
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		reader, err := otelprometheus.New(
			otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(),
			otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		)
		if err != nil {
			return err
		}
		options = append(options, sdkmetric.WithReader(reader))
		t.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 2, Timeout: scrapeTime,
		})
	}
	if o.SendMetrics {
		exporter, err := metricExporter(ctx, o.Getenv)
		if err != nil {
			return err
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	t.meters = sdkmetric.NewMeterProvider(options...)
	t.instruments, err = newInstruments(t.meters.Meter(scope))
	return err
}

func (t *Telemetry) startTraces(ctx context.Context, o Options, about *resource.Resource) error {
	exporter, err := traceExporter(ctx, o.Getenv)
	if err != nil {
		return err
	}
	t.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(ids{}))
	t.tracer = t.spans.Tracer(scope)
	return nil
}

// Handler serves the metrics in the format of Prometheus. It is nil if they are not served.
func (t *Telemetry) Handler() http.Handler { return t.handler }

// Close sends what is left, until ctx ends.
func (t *Telemetry) Close(ctx context.Context) {
	if t.spans != nil {
		_ = t.spans.Shutdown(ctx) // reportFaults has logged what could not be sent
	}
	if t.meters != nil {
		_ = t.meters.Shutdown(ctx)
	}
}

// reportFaults logs the faults of exporters, without their texts, which may have an address or a header.
func reportFaults(log *slog.Logger) {
	var next atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		now := time.Now()
		if at := next.Load(); now.UnixNano() < at || !next.CompareAndSwap(at, now.Add(faultEvery).UnixNano()) {
			return
		}
		for errors.Unwrap(err) != nil {
			err = errors.Unwrap(err)
		}
		log.Warn("telemetry could not be sent; calls run on", "errorType", fmt.Sprintf("%T", err))
	}))
}

// Configured reports, by the variables OTEL_* of the environment, whether to send metrics and traces by OTLP.
func Configured(getenv func(string) string) (metrics, traces bool, err error) {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return false, false, nil
	}
	if metrics, err = configured(getenv, "METRICS"); err == nil {
		traces, err = configured(getenv, "TRACES")
	}
	return metrics, traces, err
}
