// Package approvals shows how people decide: what counts and from whom, what is asked again, who is
// told, and what a flood of messages does.
package approvals

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
