//go:build unix

package faultkit_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// kills also runs the tests that need many minutes: no fake clock serves, because real processes die, and Temporal and Postgres must notice
// it. `.ci/run chaos` sets it.
var kills = flag.Bool("kills", false, "run TestKillMatrix and TestRandomKills too")

// fullServer runs all tests on a full Temporal server with Postgres persistence. The first run builds it.
var fullServer = flag.Bool("full-server", false, "use a full Temporal server with Postgres persistence")

// needsKills skips a test without the flag.
func needsKills(t *testing.T) {
	t.Helper()
	if !*kills {
		t.Skip("takes minutes: go test ./internal/faultkit -kills -timeout 30m")
	}
}

func TestMain(m *testing.M) {
	// Most of the time the tests wait for heartbeats and task timeouts of killed workers, so more
	// of them than processors can run in parallel. A flag on the command line still counts.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	flag.Parse()
	if *fullServer {
		devstacktest.FullServer()
	}
	code := devstacktest.Runner(m).Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}
