package worker

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/fx"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// OTLP says which signals a worker sends by OTLP. LoadConfig sets a field if OTEL_EXPORTER_OTLP_ENDPOINT, its form for one signal, or
// OTEL_METRICS_EXPORTER=otlp or OTEL_TRACES_EXPORTER=otlp is set. The exporters read their settings from the variables OTEL_* of the
// environment. Metrics are served at /metrics of HealthListen without OTLP.
type OTLP struct{ Metrics, Traces bool }

func loadOTLP() (o OTLP, err error) {
	o.Metrics, o.Traces, err = telemetry.Configured(os.Getenv)
	return o, err
}

// startTelemetry starts the metrics and the traces of the worker.
func startTelemetry(ctx context.Context, c Config) (*telemetry.Telemetry, error) {
	return telemetry.Start(ctx, telemetry.Options{
		Scraped: c.HealthListen != "", SendMetrics: c.OTLP.Metrics, SendTraces: c.OTLP.Traces, Getenv: os.Getenv, Instance: identity(), Log: c.Log,
		Types: append(contract.ActivityNames(), toolspec.WorkflowType, agent.WorkflowType, contract.FireTriggerType, upkeep.SweepType, upkeep.VerifyType, upkeep.ResealType),
	})
}

// watch adds the gauges that are read from the database, and tells the metrics which tools the worker has. Its stop
// hook is added last, so it runs first: the gauges end before the database and the other parts of the worker stop.
func watch(lc fx.Lifecycle, c Config, store *postgres.Store, tools *catalog.Registry) error {
	c.telemetry.KnowTools(func(toolID string) bool {
		_, ok := tools.Get(toolID)
		return ok
	})
	stop, err := c.telemetry.Watch(store, namespaceOf(c), c.Log)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	lc.Append(fx.Hook{OnStop: func(context.Context) error {
		stop()
		return nil
	}})
	return nil
}

// identity returns the name by which Temporal knows the worker of this process.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s%d@%s", IdentityPrefix, os.Getpid(), host)
}
