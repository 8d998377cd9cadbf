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
		"PAWL_SWEEP_EVERY=off", "PAWL_CONNECTION_KEY=" + w.connectionKey, "PAWL_CODEC_KEYS=" + w.keys, "PAWL_KEYRING_FILE=" + w.keyring,
	}
	return cmd
}

// pawlCLI runs commands of the pawl program, all in one process, and returns what each of them printed.
func (w *world) pawlCLI(commands ...string) []string {
	w.t.Helper()
	// Some tests have a hundred commands.
	ctx, cancel := context.WithTimeout(w.t.Context(), patience+time.Duration(len(commands))*2*time.Second)
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

// entered enters a run into the file that its text names, and then, where its note says so and the file is new, waits to be told to
// stop, or for the end of its process, or wants to be asked again later.
func entered(ctx context.Context, in in, _ toolspec.Call) (out, error) {
	_, unknown := os.Stat(in.Text)
	if err := enter(in.Text, os.Getpid()); err != nil {
		return out{}, err
	}
	if in.Note == "hang" && unknown != nil {
		<-ctx.Done()
		return out{}, ctx.Err()
	}
	if in.Note == "deaf" && unknown != nil {
		<-make(chan struct{})
	}
	if in.Note == "busy" && unknown != nil {
		// Longer than a test takes to bring its other calls to their places, and to end this worker.
		return out{}, toolspec.RetryAfter(10*time.Second, "busy")
	}
	return out{Text: "done"}, nil
}

// enter adds a line to a file.
func enter(name string, line any) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, line)
	return err
}

// childTools are the tools of a worker that is to die.
func childTools() []toolspec.Tool {
	f := entered
	// What hangs does so until its worker is ended, however long a test takes to get there.
	stays := within(2 * time.Minute)
	return []toolspec.Tool{
		tool("test__write", f, idempotent, stays), tool("test__send", f, once, stays), tool("test__asked", f, once, risky), tool("test__read", f, stays),
		tool("test__fast", f, fast),
		tool(hookedTool, f, once), tool(lastingTool, f, once), wire(),
	}
}

// serveInChild starts a worker in a process of its own; release names one of releases, and nothing means that of childTools.
func (w *world) serveInChild(release ...string) *exec.Cmd {
	w.t.Helper()
	return w.served(w.child(context.WithoutCancel(w.t.Context()), childServe, release...))
}

// serveInChildWith is serveInChild with more in its environment.
func (w *world) serveInChildWith(environment ...string) *exec.Cmd {
	w.t.Helper()
	cmd := w.child(context.WithoutCancel(w.t.Context()), childServe)
	cmd.Env = append(cmd.Env, environment...)
	return w.served(cmd)
}

// served starts a worker that is prepared.
func (w *world) served(cmd *exec.Cmd) *exec.Cmd {
	w.t.Helper()
	cmd.Stdout, cmd.Stderr = w.log, w.log
	if _, err := cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { kill(cmd) })
	return cmd
}

// dies waits for a worker to end by itself, and badly.
func (w *world) dies(cmd *exec.Cmd) {
	w.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := receive(w.t, ended); err == nil {
		w.t.Fatal("the worker did not die")
	}
}

// kill ends a child without a chance to say goodbye.
func kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
