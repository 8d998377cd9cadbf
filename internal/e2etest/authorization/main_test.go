// Package authorization tests which calls are allowed: by policy and its changes, kill switches, relations,
// delegation and the catalog.
package authorization

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }
