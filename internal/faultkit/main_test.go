//go:build unix

package faultkit_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

func TestMain(m *testing.M) {
	// Most of the time the tests wait for heartbeats and task timeouts of killed workers, so more
	// of them than processors can run in parallel. A flag on the command line still counts.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	code := devstacktest.Runner(m).Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}
