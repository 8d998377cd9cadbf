package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

func TestMain(m *testing.M) { devstacktest.Main(m) }
