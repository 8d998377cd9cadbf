package kms_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/kms"
	"github.com/pawl-run/pawl/workflows/contract"
)

// programEnv has this test binary be a program: pawl or pawl-kms.
const programEnv = "PAWL_KMS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	program := os.Getenv(programEnv)
	if program == "" {
		devstacktest.Main(m, contract.SearchAttributeNames()...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var options []cli.Option
	if program == "pawl-kms" {
		options = append(options, cli.KeyWrapper(kms.FromEnv()))
	}
	os.Exit(cli.Main(ctx, os.Args[1:], app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, options...)) //nolint:gocritic // the process ends
}
