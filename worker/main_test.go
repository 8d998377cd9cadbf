package worker

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// Whatever a worker opened it has closed, however it ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(devstacktest.Runner(m)) }
