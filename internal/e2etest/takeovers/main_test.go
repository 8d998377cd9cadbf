// Package takeovers tests that a call has its effect once, and ends, whatever happens to its worker,
// its workflow run or its attempt.
package takeovers

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/worker"
)

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(serve)})
}

func serve(release string) []worker.Option {
	if release != "" {
		return releases()[release]
	}
	return []worker.Option{
		worker.Tools(e2etest.ChildTools()...), worker.Tools(posts()...), worker.Tools(e2etest.Tool(hookedTool, e2etest.Entered, e2etest.Once),
			e2etest.Tool(lastingTool, e2etest.Entered, e2etest.Once), wire(),
			e2etest.Tool(busyTool, e2etest.Entered, e2etest.Once, e2etest.Risky, e2etest.Attempts(3)),
			e2etest.Tool(barredTool, barred, e2etest.Once, e2etest.Fast, e2etest.Attempts(10))),
		worker.ToolHooks(hookedTool, dyingHook()), worker.ToolHooks(lastingTool, dyingDurable()),
	}
}
