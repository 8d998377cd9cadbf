package e2etest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	sdkworker "go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/worker"
)

// childEnv is the environment variable that names the program of a child process.
const childEnv = "PAWL_TEST_CHILD"

// These are the programs of every test binary.
const (
	// ChildServe is a worker (see [Serving]).
	ChildServe = "worker"
	// ChildCommand is one command of the pawl program, with its exit status.
	ChildCommand = "command"
	// childPawl is several commands of the pawl program. Each argument has one command.
	childPawl = "pawl"
)

// endOfOutput is printed after the output of each command, if a process runs several.
const endOfOutput = "\n== end ==\n"

// Program is the main function of a child process, which is the test binary itself. It returns the exit status.
type Program func(ctx context.Context, args []string) int

// Main is the TestMain of a package of end-to-end tests. The test binary can also run as the pawl program, as a worker with ChildTools, and as one of
// the given programs. A given program with the name ChildServe replaces that worker.
func Main(m *testing.M, programs map[string]Program) {
	// Without it, the SDK reads the whole program to make a checksum, and that is half of the work of a worker that starts.
	sdkworker.SetBinaryChecksum("e2etest")
	if name := os.Getenv(childEnv); name != "" {
		os.Exit(be(name, programs))
	}
	// The tests mostly wait, for heartbeats, expiries and timers, so four run at the same time. A flag on the command line overrides this.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	devstacktest.Main(m)
}

func be(name string, programs map[string]Program) int {
	known := map[string]Program{childPawl: commands, ChildCommand: oneCommand, ChildServe: Serving(nil)}
	maps.Copy(known, programs)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return known[name](ctx, os.Args[1:])
}

func oneCommand(ctx context.Context, args []string) int {
	return cli.Main(ctx, args, app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

func commands(ctx context.Context, args []string) int {
	for _, command := range args {
		cli.Main(ctx, strings.Fields(command), app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stdout})
		fmt.Fprint(os.Stdout, endOfOutput)
	}
	return 0
}

// Serving returns the program of a worker with the options of the release that its argument names. If options is nil, the worker has ChildTools. The worker
// ends at the latest with the test, because its standard input ends then.
func Serving(options func(release string) []worker.Option) Program {
	return func(ctx context.Context, args []string) int {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
		with := []worker.Option{worker.Tools(ChildTools()...)}
		if options != nil {
			with = options(strings.Join(args, " "))
		}
		c, err := worker.LoadConfig()
		if err == nil {
			err = worker.Run(ctx, c, with...)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
}
