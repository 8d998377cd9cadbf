package telemetry

import (
	"context"
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// checkName is the metric of the checks of a worker's health.
const checkName = "pawl.check"

// Values of the metric of checks.
const (
	CheckOK       = 0
	CheckDegraded = 1
	CheckFailed   = 2
)

// ServeChecks serves the results of checks at /metrics: the name of each check and one of the values above. run bounds its time itself.
//
// This is no instrument of OpenTelemetry: the SDK holds a lock while it reads instruments, and a check that asks Temporal records
// metrics itself, for which it needs the same lock.
func (t *Telemetry) ServeChecks(run func(context.Context) iter.Seq2[string, int]) {
	if t.registry == nil {
		return
	}
	t.registry.MustRegister(checks{run})
}

var checkDesc = prometheus.NewDesc("pawl_check", "State of a check of the worker's health: 0 ok, 1 degraded, 2 failed.", []string{"check"}, nil)

// checks collects the results of checks.
type checks struct {
	run func(context.Context) iter.Seq2[string, int]
}

// Describe implements prometheus.Collector.
func (c checks) Describe(to chan<- *prometheus.Desc) { to <- checkDesc }

// Collect implements prometheus.Collector.
func (c checks) Collect(to chan<- prometheus.Metric) {
	for name, value := range c.run(context.Background()) {
		to <- prometheus.MustNewConstMetric(checkDesc, prometheus.GaugeValue, float64(value), name)
	}
}
