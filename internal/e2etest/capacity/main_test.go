// Package capacity tests calls that wait for each other: because of limits, slots of workers, cached results
// or a slow database.
package capacity

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
