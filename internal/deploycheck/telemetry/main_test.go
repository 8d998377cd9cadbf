// Package telemetry tests what the metrics, the traces and the log say about a call.
package telemetry

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
