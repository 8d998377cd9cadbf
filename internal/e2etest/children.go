package e2etest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Child prepares a process that runs the test binary as one of its programs. Its environment has the addresses of this world, and no variable of the
// environment of the test.
func (w *World) Child(ctx context.Context, what string, args ...string) *exec.Cmd {
	w.T.Helper()
	self, err := os.Executable()
	if err != nil {
		w.T.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = w.Workspace
	cmd.Env = []string{
		childEnv + "=" + what, "PATH=" + os.Getenv("PATH"), "HOME=" + w.T.TempDir(),
		"TEMPORAL_ADDRESS=" + w.Address, "TEMPORAL_NAMESPACE=" + w.Namespace, "PAWL_DATABASE_URL=" + w.Database, "PAWL_LOG_LEVEL=debug",
		"PAWL_SWEEP_EVERY=off", "PAWL_CONNECTION_KEY=" + w.connectionKey, "PAWL_CODEC_KEYS=" + w.Keys, "PAWL_KEYRING_FILE=" + w.Keyring,
	}
	return cmd
}

// PawlCLI runs commands of the pawl program, all in one process, and returns what each of them printed.
func (w *World) PawlCLI(commands ...string) []string {
	w.T.Helper()
	// Some tests run a hundred commands.
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout+time.Duration(len(commands))*2*time.Second)
	defer cancel()
	text, err := w.Child(ctx, childPawl, commands...).Output()
	if err != nil {
		w.T.Fatal(err)
	}
	outputs := strings.Split(strings.TrimSuffix(string(text), endOfOutput), endOfOutput)
	if len(outputs) != len(commands) {
		w.T.Fatalf("%d commands printed %d texts: %q", len(commands), len(outputs), outputs)
	}
	return outputs
}

// Entered is a tool that adds its process id to the file that In.Text names. If the file is new, In.Note says what the tool does then: with "hang" it waits
// for the end of its context, with "deaf" it waits for ever, and with "busy" it asks for another attempt later.
func Entered(ctx context.Context, in In, _ toolspec.Call) (Out, error) {
	_, unknown := os.Stat(in.Text)
	if err := Enter(in.Text, os.Getpid()); err != nil {
		return Out{}, err
	}
	if in.Note == "hang" && unknown != nil {
		<-ctx.Done()
		return Out{}, ctx.Err()
	}
	if in.Note == "deaf" && unknown != nil {
		<-make(chan struct{})
	}
	if in.Note == "busy" && unknown != nil {
		// This is longer than a test needs to start its other calls and to end this worker.
		return Out{}, toolspec.RetryAfter(10*time.Second, "busy")
	}
	return Out{Text: "done"}, nil
}

// Enter adds a line to a file.
func Enter(name string, line any) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, line)
	return err
}

// ChildTools returns the tools of a worker in a separate process. All of them run Entered.
func ChildTools() []toolspec.Tool {
	f := Entered
	// A tool that hangs must hang until the test ends its worker, so its time limit is longer than any test needs for that.
	stays := Within(2 * time.Minute)
	return []toolspec.Tool{
		Tool("test__write", f, Idempotent, stays), Tool("test__send", f, Once, stays), Tool("test__asked", f, Once, Risky),
		Tool("test__read", f, stays),
		Tool("test__fast", f, Fast), Tool("test__quick", f, Once, Fast),
	}
}

// ServeInChild starts the worker of this binary in a separate process. release names the release that the worker plays.
func (w *World) ServeInChild(release ...string) *exec.Cmd {
	w.T.Helper()
	return w.served(w.Child(context.WithoutCancel(w.T.Context()), ChildServe, release...))
}

// ServeInChildWith is ServeInChild with more variables in the environment.
func (w *World) ServeInChildWith(environment ...string) *exec.Cmd {
	w.T.Helper()
	cmd := w.Child(context.WithoutCancel(w.T.Context()), ChildServe)
	cmd.Env = append(cmd.Env, environment...)
	return w.served(cmd)
}

// served starts a prepared worker.
func (w *World) served(cmd *exec.Cmd) *exec.Cmd {
	w.T.Helper()
	cmd.Stdout, cmd.Stderr = w.Log, w.Log
	if _, err := cmd.StdinPipe(); err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { Kill(cmd) })
	return cmd
}

// Dies waits for a worker to end by itself, with an error.
func (w *World) Dies(cmd *exec.Cmd) {
	w.T.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := Receive(w.T, ended); err == nil {
		w.T.Fatal("the worker did not die")
	}
}

// Kill kills a child process (SIGKILL), if it still runs.
func Kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// Effects returns the lines that Entered has written into a file.
func (w *World) Effects(file string) []string {
	w.T.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		w.T.Fatal(err)
	}
	return strings.Fields(string(text))
}
