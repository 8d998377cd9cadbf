// Package turns tests turns of a model. A turn has all calls of one response.
package turns

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
