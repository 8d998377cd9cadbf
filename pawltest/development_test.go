package pawltest_test

import (
	"testing"

	"github.com/pawl-run/pawl/pawltest"
)

// TestDevelopmentCases: the policy for development decides as its cases say.
func TestDevelopmentCases(t *testing.T) {
	t.Parallel()
	pawltest.Cases(t, "../policy/testdata/development_cases.yaml")
}
