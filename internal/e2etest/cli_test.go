package e2etest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/pawl-run/pawl/internal/devstack/temporalcli"
)

// cli runs the real `temporal` program against the world and returns what it printed.
func (w *world) cli(args ...string) (string, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	program, err := temporalcli.Find(ctx, temporalcli.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, append(args,
		"--address", w.address, "--namespace", w.namespace, "--output", "json", "--color", "never")...)
	// Nothing of the environment may steer it.
	cmd.Env = []string{"HOME=" + w.t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
		return stdout.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// mustCLI is cli for what has to succeed.
func (w *world) mustCLI(args ...string) string {
	w.t.Helper()
	text, err := w.cli(args...)
	if err != nil {
		w.t.Fatalf("temporal %s: %v", strings.Join(args, " "), err)
	}
	return text
}

// cliJSON reads the one JSON document that the program printed.
func cliJSON[T any](w *world, args ...string) T {
	w.t.Helper()
	text := w.mustCLI(args...)
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.t.Fatalf("temporal %s printed %s: %v", strings.Join(args, " "), text, err)
	}
	return v
}
