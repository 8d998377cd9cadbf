package audit

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devstacktest.Runner(m)) }
