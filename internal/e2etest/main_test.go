package e2etest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/worker"
)

// childEnv makes this test binary something else: a worker with the tools of childTools, the pawl program, or many callers.
const (
	childEnv     = "PAWL_E2E_CHILD"
	childPawl    = "pawl"
	childCommand = "command" // one command of it, with its exit status
	childServe   = "worker"
	childCallers = "callers"
)

// endOfOutput follows what each command printed.
const endOfOutput = "\n== end ==\n"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(beChild(what))
	}
	// The tests wait more than they work: for heartbeats, expiries and timers. The command line may say otherwise.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	devstacktest.Main(m)
}

// beChild is the main function of a child; it returns the exit status.
func beChild(what string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if what == childCommand {
		return cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	}
	if what == childPawl {
		for _, command := range os.Args[1:] {
			cli.Main(ctx, strings.Fields(command), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stdout})
			fmt.Fprint(os.Stdout, endOfOutput)
		}
		return 0
	}
	if what == childCallers {
		return beCallers(ctx, os.Args[1:])
	}
	// The test holds the other end: however it ends, this ends too.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	c, err := worker.LoadConfig()
	if err == nil {
		options := append(historyOptions(), worker.Tools(childTools()...), worker.ToolHooks(hookedTool, dyingHook()), worker.ToolHooks(lastingTool, dyingDurable()))
		if len(os.Args) > 1 {
			options = releases()[os.Args[1]]
		}
		err = worker.Run(ctx, c, options...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
