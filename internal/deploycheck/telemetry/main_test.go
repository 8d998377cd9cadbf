// Package telemetry tests what the metrics, the traces and the log say about a call. The receiver of the OpenTelemetry Collector receives the traces and the metrics.
package telemetry

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
