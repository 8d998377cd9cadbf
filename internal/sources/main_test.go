package sources

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// No source is left when a test ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(devstacktest.Runner(m)) }
