// Package skew tests two releases of Pawl that run at the same time: with one database and one task queue, and as versions of a Worker Deployment of
// Temporal.
package skew

import (
	"flag"
	"os"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/worker"
)

var released = flag.Bool("released", false, "also run the tests that build the last release, as .ci/run skew does")

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(func(string) []worker.Option {
		if os.Getenv("PAWL_POOL") != "" {
			return []worker.Option{worker.Tools(e2etest.Tool("test__pooled", e2etest.Entered))}
		}
		return []worker.Option{worker.Tools(e2etest.ChildTools()...)}
	})})
}

func needFlag(t *testing.T) {
	t.Helper()
	if !*released {
		t.Skip("it needs the commits of releases: .ci/run skew runs it")
	}
}
