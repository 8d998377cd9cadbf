package pawltest

import (
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// Main is the TestMain of a package whose tests call Start: it lets them share the servers, and
// stops these after the last test.
//
//	func TestMain(m *testing.M) { pawltest.Main(m) }
func Main(m *testing.M) { devstacktest.Main(m) }
