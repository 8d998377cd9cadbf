// Package calls tests single calls from their input to their result: the callers, the lanes, the
// arguments, the sizes, and how a call is stopped.
package calls

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, map[string]e2etest.Program{childCallers: beCallers}) }
