package worker

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// A worker closes each resource that it has opened, however it ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(devstacktest.Runner(m)) }
