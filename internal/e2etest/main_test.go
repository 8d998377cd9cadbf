package e2etest

import (
	"flag"
	"os"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(beChild(what))
	}
	flag.Parse()
	// The tests wait more than they work: for heartbeats, expiries and timers.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	devstacktest.Main(m)
}
