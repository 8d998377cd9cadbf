package e2etest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// Command is a running command of the pawl program.
type Command struct {
	t        *testing.T
	cmd      *exec.Cmd
	Out, Err *devstacktest.Log
}

// Command starts a command of the pawl program.
func (w *World) Command(args ...string) *Command {
	w.T.Helper()
	c := &Command{t: w.T, cmd: w.Child(context.WithoutCancel(w.T.Context()), ChildCommand, args...), Out: &devstacktest.Log{}, Err: &devstacktest.Log{}}
	c.cmd.Stdout, c.cmd.Stderr = c.Out, c.Err
	if err := c.cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { Kill(c.cmd) })
	return c
}

// Says reports whether the command has written a text to its standard error.
func (c *Command) Says(text string) bool { return c.Err.Has(text) }

// Interrupt sends SIGINT.
func (c *Command) Interrupt() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
}

// Kill ends the command with SIGKILL.
func (c *Command) Kill() { Kill(c.cmd) }

// Wait waits for the end of the command and returns its exit status.
func (c *Command) Wait() int {
	c.t.Helper()
	timer := time.AfterFunc(WaitTimeout, func() {
		_ = c.cmd.Process.Kill()
		_, _ = io.WriteString(c.Err, "killed: it did not end\n")
	})
	defer timer.Stop()
	var ended *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &ended) {
		c.t.Fatal(fmt.Errorf("wait for the command: %w", err))
	}
	return c.cmd.ProcessState.ExitCode()
}
