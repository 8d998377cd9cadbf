// Package outages tests calls whose database or Temporal server is down, slow, overloaded or
// killed, or whose answers are lost.
package outages

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
