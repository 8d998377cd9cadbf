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

// needsKills skips a test without the flag.
func needsKills(t *testing.T) {
	t.Helper()
	if !*kills {
		t.Skip("takes minutes: go test ./internal/faultkit -kills -timeout 30m")
	}
}

func TestMain(m *testing.M) {
	// The tests wait more than they work: for heartbeats and task timeouts of workers
	// that are dead. The command line may say otherwise.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	code := devstacktest.Runner(m).Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}
