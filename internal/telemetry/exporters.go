package telemetry

import (
	"cmp"
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// configured reports whether a signal is sent by OTLP: an endpoint is set, or the exporter otlp, and the exporter is not none.
func configured(getenv func(string) string, signal string) (bool, error) {
	name := "OTEL_" + signal + "_EXPORTER"
	switch exporter := getenv(name); exporter {
	case "none":
		return false, nil
	case "":
		if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("config: %s is not otlp or none", name)
	}
	_, err := usesGRPC(getenv, signal)
	return err == nil, err
}

// usesGRPC reports whether a signal is sent by gRPC, and not by HTTP.
func usesGRPC(getenv func(string) string, signal string) (bool, error) {
	name := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"
	switch cmp.Or(getenv(name), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf") {
	case "grpc":
		return true, nil
	case "http/protobuf":
		return false, nil
	}
	return false, fmt.Errorf("config: %s and OTEL_EXPORTER_OTLP_PROTOCOL are not grpc or http/protobuf", name)
}

func metricExporter(ctx context.Context, getenv func(string) string) (sdkmetric.Exporter, error) {
	grpc, err := usesGRPC(getenv, "METRICS")
	switch {
	case err != nil:
		return nil, err
	case grpc:
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

func traceExporter(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	grpc, err := usesGRPC(getenv, "TRACES")
	switch {
	case err != nil:
		return nil, err
	case grpc:
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}
