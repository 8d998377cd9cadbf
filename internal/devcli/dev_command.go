package devcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/supervise"
	"github.com/pawl-run/pawl/worker"
)

// workerStop is the maximum time for a worker to stop. It is a little longer than the
// worker's own limit for stopping.
const workerStop = 20 * time.Second

// workWith runs a command in the place of the worker of `pawl dev` until ctx ends or the
// command does. The command runs in the workspace, with the servers and the key ring in its
// environment. It does not outlive pawl: a guard process ends it. A command that fails is an
// error with the exit status of the command; that is 128 and the number of the signal if a
// signal ended it.
func (a devApp) workWith(ctx context.Context, stack *devstack.Stack, config worker.Config, command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("the command %s: %w", command[0], errors.Unwrap(err))
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	guard, err := supervise.NewGuard(supervise.GuardOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = guard.Close() }()
	output, _ := a.Err.(*os.File)
	p, err := guard.Start(supervise.Command{
		Path: path, Args: command[1:], Dir: config.Workspace, Output: output,
		// Signals go to the whole process group: `go run` starts the program as a child
		// and does not forward signals to it.
		Group: true,
		Env: append(append(without(os.Environ(), "TEMPORAL_", "PAWL_DATABASE_URL", "DATABASE_URL"),
			"TEMPORAL_CONFIG_FILE="+os.DevNull, // a profile's certificates and keys are for another server
			"TEMPORAL_ADDRESS="+stack.TemporalAddress(), "TEMPORAL_NAMESPACE="+stack.Namespace(),
			"PAWL_DATABASE_URL="+stack.DatabaseURL()), keyRingEnv(config.KeyRing)...),
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		// ctx has ended already, and the worker still needs time to stop.
		p.Stop(context.WithoutCancel(ctx), supervise.Step{Signal: supervise.Interrupt, Wait: workerStop})
		return nil
	case <-p.Done():
		if p.Err() == nil {
			return nil
		}
		return app.WithStatus(fmt.Errorf("the command %s ended with %w; its messages are above", command[0], p.Err()), statusOf(p.Err()))
	}
}

// statusOf returns the exit status with which a shell would report how a command ended.
func statusOf(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
