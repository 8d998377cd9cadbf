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
