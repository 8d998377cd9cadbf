// Command mutants switches guards off, one at a time, and runs the tests that
// must notice: a guard whose tests stay green is not guarded itself.
//
//	go run ./internal/faultkit/mutants            all
//	go run ./internal/faultkit/mutants epoch      those whose name has epoch in it
//
// No file of the tree is written: the compiler is shown other contents.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func run(ctx context.Context, names []string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	survivors := 0
	for _, m := range mutants {
		if !chosen(m.guard, names) {
			continue
		}
		began := time.Now()
		red, err := m.try(ctx, strings.TrimSpace(string(root)))
		if err != nil {
			return fmt.Errorf("%s: %w", m.guard, err)
		}
		verdict := "red: " + strings.Join(red, ", ")
		if len(red) == 0 {
			survivors++
			verdict = "SURVIVED"
		}
		fmt.Fprintf(os.Stdout, "%-34s %5.0fs  %s\n", m.guard, time.Since(began).Seconds(), verdict)
	}
	if survivors > 0 {
		return fmt.Errorf("%d guards can go and no test notices", survivors)
	}
	return nil
}

func chosen(guard string, names []string) bool {
	for _, name := range names {
		if strings.Contains(guard, name) {
			return true
		}
	}
	return len(names) == 0
}

// mutant is one guard switched off by edits to a file. Of the packages, the
// tests that match run must fail.
type mutant struct {
	guard, file string
	edits       []edit
	run         string
	packages    []string
}

// edit replaces a text that is there once.
type edit struct{ old, changed string }

var (
	// failedTest finds the tests of the first level.
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	// panicked finds what ended a whole test binary.
	panicked = regexp.MustCompile(`(?m)^panic: .*`)
)

// try runs the tests on the changed tree and returns those that failed.
func (m mutant) try(ctx context.Context, root string) (red []string, err error) {
	file := filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := string(source)
	for _, e := range m.edits {
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%s holds %q %d times, not once", m.file, e.old, n)
		}
		text = strings.Replace(text, e.old, e.changed, 1)
	}
	dir, err := os.MkdirTemp("", "pawl-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return nil, err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return nil, err
	}
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-run", m.run}, m.packages...)...)
	test.Dir = root
	// By the environment, so that what the tests build is changed as well.
	test.Env = append(test.Environ(), "GOFLAGS=-overlay="+overlayFile)
	test.Cancel = func() error { return test.Process.Signal(os.Interrupt) }
	output, err := test.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, found := range failedTest.FindAllSubmatch(output, -1) {
		red = append(red, string(found[1]))
	}
	if died := panicked.Find(output); died != nil {
		red = append(red, string(died))
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &exit) || len(red) == 0:
		return nil, fmt.Errorf("the tests did not run: %w\n%s", err, output)
	}
	return red, nil
}
