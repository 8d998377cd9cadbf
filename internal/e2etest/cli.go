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

// CLI runs the real `temporal` program against the world and returns what it printed.
func (w *World) CLI(args ...string) (string, error) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout)
	defer cancel()
	program, err := temporalcli.Find(ctx, temporalcli.Options{})
	if err != nil {
		w.T.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, append(args,
		"--address", w.Address, "--namespace", w.Namespace, "--output", "json", "--color", "never")...)
	// The program must not get settings from the environment of the test.
	cmd.Env = []string{"HOME=" + w.T.TempDir(), "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			w.T.Fatal(err)
		}
		return stdout.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// MustCLI is CLI, and fails the test if the program fails.
func (w *World) MustCLI(args ...string) string {
	w.T.Helper()
	text, err := w.CLI(args...)
	if err != nil {
		w.T.Fatalf("temporal %s: %v", strings.Join(args, " "), err)
	}
	return text
}

// CLIJSON runs the `temporal` program, and decodes the one JSON document that it prints.
func CLIJSON[T any](w *World, args ...string) T {
	w.T.Helper()
	text := w.MustCLI(args...)
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.T.Fatalf("temporal %s printed %s: %v", strings.Join(args, " "), text, err)
	}
	return v
}
