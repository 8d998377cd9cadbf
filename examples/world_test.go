package examples_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
)

// waitTimeout is how long a test waits for what should take a moment.
const waitTimeout = 3 * time.Minute

// programs are the examples and the stock pawl, compiled as a user would.
func programs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "./...", "../cmd/pawl")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return dir
}

// world is a namespace and a database of its own, with the programs that know
// nothing but their addresses.
type world struct {
	t         *testing.T
	programs  string
	workspace string
	env       []string
	client    *pawl.Client
}

func newWorld(t *testing.T, programs string) *world {
	t.Helper()
	w := &world{t: t, programs: programs, workspace: t.TempDir()}
	address, namespace := devstacktest.Temporal(t), "example-"+strings.ToLower(rand.Text()[:12])
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: waitTimeout},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	devstacktest.Namespace(t, c, namespace)
	w.client = pawl.New(c, pawl.Options{})
	policy, err := filepath.Abs("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TEMPORAL_ADDRESS=" + address, "TEMPORAL_NAMESPACE=" + namespace,
		"PAWL_DATABASE_URL=" + devstacktest.Postgres(t), "PAWL_POLICY=" + policy,
		// The server would have to learn of them for each namespace first.
		"PAWL_SEARCH_ATTRIBUTES=off", "PAWL_SWEEP_EVERY=off",
	}
	w.pawl("migrate", "up")
	return w
}

// work runs an example in a process of its own until the test ends, and then
// wants it to end well when it is told to. It returns what it logs.
func (w *world) work(example string, args ...string) *devstacktest.Log {
	w.t.Helper()
	log := &devstacktest.Log{}
	cmd := exec.Command(filepath.Join(w.programs, example), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = w.workspace, w.env, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var failed error
	ended := make(chan struct{})
	go func() {
		failed = cmd.Wait()
		close(ended)
	}()
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			if failed != nil {
				w.t.Errorf("%s ended with %v:\n%s", example, failed, log)
			}
		case <-time.After(waitTimeout):
			_ = cmd.Process.Kill()
			w.t.Errorf("%s does not end", example)
		}
	})
	w.until(func() bool {
		select {
		case <-ended:
			w.t.Fatalf("%s ended by itself", example)
		default:
		}
		return strings.Contains(log.String(), "worker runs")
	}, example+" serves", log)
	return log
}

// pawl runs a command of the stock program, which has to succeed.
func (w *world) pawl(args ...string) (stdout string) {
	w.t.Helper()
	stdout, stderr, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("pawl %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout
}

func (w *world) try(args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.programs, "pawl"), args...)
	cmd.Dir, cmd.Env = w.workspace, w.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// invoke runs a call by the stock program and returns its result, with a value
// or without.
func (w *world) invoke(toolID, args string, more ...string) toolspec.Result {
	w.t.Helper()
	out, errs, err := w.try(append([]string{"invoke", toolID, "--args", args, "--json"}, more...)...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	var result toolspec.Result
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		w.t.Fatalf("pawl invoke %s printed %s%s", toolID, out, errs)
	}
	if result.OK != (err == nil) {
		w.t.Errorf("pawl invoke %s ended with %v and %+v", toolID, err, result)
	}
	return result
}

func (w *world) until(holds func() bool, what string, log *devstacktest.Log) {
	w.t.Helper()
	if !devstacktest.Eventually(w.t.Context(), waitTimeout, holds) {
		w.t.Fatalf("never: %s\n%s", what, log)
	}
}
