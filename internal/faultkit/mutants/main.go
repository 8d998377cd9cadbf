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
	"cmp"
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
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	all, err := conditions(strings.TrimSpace(string(root)))
	if err != nil {
		return err
	}
	survivors := 0
	for _, m := range slices.Concat(mutants, named, ofTools, ofClaimedLane, ofDenials, ofAgents, all) {
		if !chosen(m.guard, names) {
			continue
		}
		began := time.Now()
		red, err := m.try(ctx, strings.TrimSpace(string(root)), m.run)
		if err == nil && len(red) == 0 && m.elseRun != "" {
			red, err = m.try(ctx, strings.TrimSpace(string(root)), m.elseRun)
		}
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

// mutant removes one guard: it edits the file and perhaps other files, or replaces the whole
// file by text. Of the tests of packages that match run, at least one must fail; if none fails,
// one that matches elseRun must fail.
type mutant struct {
	guard, file string
	edits       []edit
	elsewhere   map[string][]edit // by file
	text        string
	run         string
	elseRun     string
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
func (m mutant) try(ctx context.Context, root, run string) (red []string, err error) {
	dir, err := os.MkdirTemp("", "pawl-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	changed, err := m.write(root, dir)
	if err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": changed})
	if err != nil {
		return nil, err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return nil, err
	}
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-failfast", "-run", run}, m.packages...)...)
	test.Dir = root
	// The environment also reaches the programs that the tests build.
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
		text := cmp.Or(m.text, string(source))
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
