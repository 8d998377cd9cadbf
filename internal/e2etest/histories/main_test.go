// Package histories records the histories of calls, and tests that calls that other releases have
// begun go on.
package histories

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/worker"
)

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(func(string) []worker.Option {
		return append(historyOptions(), worker.Tools(e2etest.ChildTools()...), worker.Tools(waitingTool("test__claimed", hangInChild)))
	})})
}
