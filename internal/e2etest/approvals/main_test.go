// Package approvals tests how people decide on calls: which decisions count, when a request is opened again, which
// notices are sent, and what a flood of messages does.
package approvals

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
