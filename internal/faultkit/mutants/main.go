// Command mutants removes guards, one at a time, and runs the tests that must then fail. If no
// test fails, the guard is not tested.
//
//	go run ./internal/faultkit/mutants            all
//	go run ./internal/faultkit/mutants epoch      the mutants whose name contains epoch
//	go run ./internal/faultkit/mutants condition  each condition of the guarded SQL
//
// It changes no file of the tree: the compiler gets the changed files as an overlay.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
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
	line, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	root := strings.TrimSpace(string(line))
	all, err := conditions(root)
	if err != nil {
		return err
	}
	survivors, err := tryConditions(ctx, root, slices.DeleteFunc(all, func(c condition) bool { return !chosen(c.guard, names) }))
	if err != nil {
		return err
	}
	for _, m := range slices.Concat(mutants, named, ofTools, ofClaimedLane, ofDenials, ofAgents) {
		if !chosen(m.guard, names) {
			continue
		}
		began := time.Now()
		red, err := m.try(ctx, root)
		if err != nil {
			return fmt.Errorf("%s: %w", m.guard, err)
		}
		if !report(m.guard, began, red) {
			survivors++
		}
	}
	if survivors > 0 {
		return fmt.Errorf("%d guards can go and no test notices", survivors)
	}
	return nil
}

// report writes the verdict on a guard, and returns false if no test was red.
func report(guard string, began time.Time, red []string) bool {
	verdict := "red: " + strings.Join(red, ", ")
	if len(red) == 0 {
		verdict = "SURVIVED"
	}
	fmt.Fprintf(os.Stdout, "%-34s %5.0fs  %s\n", guard, time.Since(began).Seconds(), verdict)
	return len(red) > 0
}

func chosen(guard string, names []string) bool {
	for _, name := range names {
		if strings.Contains(guard, name) {
			return true
		}
	}
	return len(names) == 0
}

// mutant removes one guard: it edits the file and perhaps other files. Of the tests of packages that match run, at least one must fail.
type mutant struct {
	guard, file string
	edits       []edit
	elsewhere   map[string][]edit // by file
	run         string
	packages    []string
}

// edit replaces a text that occurs once.
type edit struct{ old, changed string }

var (
	// failedTest matches a failed top-level test.
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	// panicked matches the panic that ended a test binary.
	panicked = regexp.MustCompile(`(?m)^panic: .*`)
)

// try runs tests on the changed tree and returns those that failed.
func (m mutant) try(ctx context.Context, root string) (red []string, err error) {
	dir, err := os.MkdirTemp("", "pawl-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return nil, err
	}
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-failfast", "-run", m.run}, m.packages...)...)
	test.Dir = root
	// The environment also reaches the programs that the tests build.
	test.Env = append(test.Environ(), "GOFLAGS=-overlay="+overlay)
	return failures(ctx, test)
}

// failures runs tests and returns those that failed.
func failures(ctx context.Context, test *exec.Cmd) (red []string, err error) {
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

// overlay writes the changed files to dir, and beside them the overlay for the compiler, whose path it returns.
func (m mutant) overlay(root, dir string) (string, error) {
	changed, err := m.write(root, dir)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": changed})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o600)
}

// write writes the changed files to dir. It returns the new path of each file by its path in the
// tree.
func (m mutant) write(root, dir string) (map[string]string, error) {
	paths := map[string]string{}
	edits := map[string][]edit{m.file: m.edits}
	maps.Copy(edits, m.elsewhere)
	for name, edits := range edits {
		file := filepath.Join(root, filepath.FromSlash(name))
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text := string(source)
		for _, e := range edits {
			if n := strings.Count(text, e.old); n != 1 {
				return nil, fmt.Errorf("%s holds %q %d times, not once", name, e.old, n)
			}
			text = strings.Replace(text, e.old, e.changed, 1)
		}
		paths[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(paths[file], []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
