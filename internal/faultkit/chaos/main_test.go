package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/worker"
)

// childEnv makes this test binary a worker of a run.
const childEnv = "PAWL_CHAOS_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	c, err := worker.LoadConfig()
	if err == nil {
		err = Serve(ctx, c, os.Getenv(LedgerEnv), nil, os.Stdin)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// workers returns a function that makes commands of program with an environment of their own, not
// the one of the test.
func workers(t *testing.T, program string) func() *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	return func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Dir = home
		cmd.Env = []string{
			childEnv + "=yes", "PATH=" + os.Getenv("PATH"), "HOME=" + home, "PAWL_LOG_LEVEL=warn", "TEMPORAL_DEBUG=" + os.Getenv("TEMPORAL_DEBUG"),
		}
		return cmd
	}
}
