package kms_test

import (
	"os"
	"testing"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/kms"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// programEnv has this test binary be a program: pawl or pawl-kms.
const programEnv = "PAWL_KMS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	program := os.Getenv(programEnv)
	if program == "" {
		devstacktest.Main(m, contract.SearchAttributeNames()...)
	}
	var options []cli.Option
	if program == "pawl-kms" {
		options = append(options, cli.Worker(worker.KeyWrapper(kms.FromEnv())))
	}
	os.Exit(cli.Program(options...))
}
