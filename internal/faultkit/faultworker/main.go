//go:build faults

// Command faultworker is the worker of the fault tests: it has the tools of the ledger, and sends
// itself a signal at the point that its environment names. Beside the variables of any worker it
// reads PAWL_CRASH_AT and PAWL_CRASH_BY (see package failpoint), PAWL_LEDGER, the address of the
// ledger, and PAWL_STICKY_CACHE, the number of workflows that it caches. It ends when its standard
// input is closed, so it ends with the process that started it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	sdkworker "go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	plan, err := failpoint.Parse(os.Getenv)
	if err != nil {
		return err
	}
	if text := os.Getenv("PAWL_STICKY_CACHE"); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("PAWL_STICKY_CACHE: %q is not a number", text)
		}
		sdkworker.SetStickyWorkflowCacheSize(size)
	}
	config, err := worker.LoadConfig()
	if err != nil {
		return err
	}
	// Otherwise the SDK reads the whole program to make a checksum, which is half of the work of a worker that starts.
	sdkworker.SetBinaryChecksum("faultworker")
	trap := failpoint.New(plan, os.Stderr)
	connection := &config.Temporal.ConnectionOptions
	connection.DialOptions = append(connection.DialOptions, trap.Dial())
	tools := ledger.Tools(ledger.Writer{URL: os.Getenv("PAWL_LEDGER")}, trap.Effect)
	return worker.Run(ctx, config, worker.Tools(tools...), worker.Faults(trap.Records))
}
