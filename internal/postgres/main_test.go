package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

func TestMain(m *testing.M) {
	buckettest.SetCredentials()
	goleak.VerifyTestMain(devstacktest.Runner(m))
}
