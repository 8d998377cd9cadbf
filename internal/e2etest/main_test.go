package e2etest

import (
	"flag"
	"os"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// childEnv makes the test binary a worker: see children_test.go.
const childEnv = "PAWL_E2E_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(serveAsChild())
	}
	flag.Parse()
	// The tests wait more than they work: for heartbeats, expiries and timers.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	devstacktest.Main(m)
}
