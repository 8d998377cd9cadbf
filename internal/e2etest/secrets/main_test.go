// Package secrets tests that credentials and hidden parts of values do not leak. Its tests are about connections,
// encryption, and the search for leaks.
package secrets

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/worker"
)

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(func(string) []worker.Option {
		return []worker.Option{worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected))}
	})})
}
