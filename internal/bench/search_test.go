package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesWithoutOtherPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	f := &FileFigures{}
	for _, c := range f.searches(t.Context()) {
		if c.other != nil {
			t.Errorf("%s is compared with %v", c.name, c.other)
		}
	}
	if got := strings.Join(f.Missing, ", "); got != "rg (ripgrep), fd" {
		t.Errorf("missing are %q", got)
	}
}

// TestFilesCounts: what another program finds is read from its output, and finding nothing is no error.
func TestFilesCounts(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"some": "printf 'a:b.go:2\\nc.go:40\\n'", "none": "exit 1", "fails": "exit 2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"some": 42, "none": 0, "fails": -1} {
		c := fileCase{other: []string{filepath.Join(dir, name)}, count: countMatches}
		_, got, err := c.run(context.WithoutCancel(t.Context()), dir)
		if want < 0 != (err != nil) || err == nil && got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}
