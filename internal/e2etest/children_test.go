package e2etest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// childEnv makes this test binary something else: a worker with the tools of childTools, or the pawl program.
const (
	childEnv   = "PAWL_E2E_CHILD"
	childPawl  = "pawl"
	childServe = "worker"
)

// beChild is the main function of a child; it returns the exit status.
func beChild(what string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if what == childPawl {
		for _, command := range os.Args[1:] {
			cli.Main(ctx, strings.Fields(command), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stdout})
			fmt.Print(endOfOutput)
		}
		return 0
	}
	c, err := worker.LoadConfig()
	if err == nil {
		err = worker.Run(ctx, c, worker.Tools(childTools()...))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child prepares a process of this binary that knows this world and nothing of our own environment.
func (w *world) child(ctx context.Context, what string, args ...string) *exec.Cmd {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = w.workspace
	cmd.Env = []string{
		childEnv + "=" + what, "PATH=" + os.Getenv("PATH"), "HOME=" + w.t.TempDir(),
		"TEMPORAL_ADDRESS=" + w.address, "TEMPORAL_NAMESPACE=" + w.namespace, "PAWL_DATABASE_URL=" + w.database, "PAWL_LOG_LEVEL=debug",
	}
	return cmd
}

// endOfOutput follows what each command printed.
const endOfOutput = "\n== end ==\n"

// pawlCLI runs commands of the pawl program, all in one process, and returns what each of them printed.
func (w *world) pawlCLI(commands ...string) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	text, err := w.child(ctx, childPawl, commands...).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	outputs := strings.Split(strings.TrimSuffix(string(text), endOfOutput), endOfOutput)
	if len(outputs) != len(commands) {
		w.t.Fatalf("%d commands printed %d texts: %q", len(commands), len(outputs), outputs)
	}
	return outputs
}

func childTools() []toolspec.Tool { return nil }
