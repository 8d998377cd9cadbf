package files_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func walk(t *testing.T, w *files.Workspace, dir string, opts capability.WalkOptions) (string, error) {
	t.Helper()
	var visited []string
	err := w.Walk(t.Context(), dir, opts, func(e capability.Entry, err error) error {
		if err != nil {
			visited = append(visited, fmt.Sprintf("%s: %v", e.Path, err))
		} else {
			visited = append(visited, fmt.Sprintf("%s(%.1s%d)", e.Path, e.Type, e.Size))
		}
		return nil
	})
	return strings.Join(visited, " "), err
}

func TestWalk(t *testing.T) {
	w, dir := open(t)
	for _, path := range []string{"a/x.go", "a/b/c/deep.go", "a/b.txt", "a-b/y.go", ".git/config", "a/.git/z", ".pawl-tmp-00-1", ".pawl-tmp-dir/x", "node.ts", "n.tsx"} {
		write(t, filepath.Join(dir, path), "12")
	}
	link(t, "a", filepath.Join(dir, "link"))
	link(t, "..", filepath.Join(dir, "a", "up"))
	git := []string{".git"}
	for _, c := range []struct {
		dir, want string
		opts      capability.WalkOptions
	}{
		{".", "a(d0) a/b(d0) a/b/c(d0) a/b/c/deep.go(f2) a/b.txt(f2) a/up(s0) a/x.go(f2) a-b(d0) a-b/y.go(f2) link(s0) n.tsx(f2) node.ts(f2)", capability.WalkOptions{SkipDirs: git}},
		{"a", "a/.git(d0) a/.git/z(f2) a/b(d0) a/b/c(d0) a/b/c/deep.go(f2) a/b.txt(f2) a/up(s0) a/x.go(f2)", capability.WalkOptions{}},
		{".git", ".git/config(f2)", capability.WalkOptions{SkipDirs: git}},
		{"link", "link/b(d0) link/b/c(d0) link/b/c/deep.go(f2) link/b.txt(f2) link/up(s0) link/x.go(f2)", capability.WalkOptions{SkipDirs: git}},
		{".", "a/b/c/deep.go(f2) a/x.go(f2) a-b/y.go(f2)", capability.WalkOptions{Include: "*.go"}},
		{".", "n.tsx(f2) node.ts(f2)", capability.WalkOptions{Include: "*.{ts,tsx}"}},
		{".", "a/b/c/deep.go(f2) a/x.go(f2)", capability.WalkOptions{Include: "a/**/*.go"}},
		{".", "a/x.go(f2)", capability.WalkOptions{Include: "a/*.go"}},
		{"a", "a/b/c/deep.go(f2)", capability.WalkOptions{Include: "b/**"}},
		{"a", "", capability.WalkOptions{Include: "a/**"}},
		{"a/x.go", "a/x.go(f2)", capability.WalkOptions{}},
		{"a/x.go", "a/x.go(f2)", capability.WalkOptions{Include: "*.go"}},
		{"a/x.go", "", capability.WalkOptions{Include: "*.txt"}},
	} {
		if got, err := walk(t, w, c.dir, c.opts); err != nil || got != c.want {
			t.Errorf("%s %+v:\n got %s, %v\nwant %s", c.dir, c.opts, got, err, c.want)
		}
	}
}

func TestWalkIncludeIsBounded(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, strings.Repeat("a", 200)), "")
	for _, pattern := range []string{"[", "{a", "a{b", `\`, "[]", strings.Repeat("a", 257), strings.Repeat("{a,a}", 40), strings.Repeat("{a,", 60) + strings.Repeat("}", 60)} {
		if got, err := walk(t, w, ".", capability.WalkOptions{Include: pattern}); !errors.Is(err, capability.ErrBadPattern) {
			t.Errorf("%q: %s, %v, want ErrBadPattern", pattern, got, err)
		}
	}
	start := time.Now()
	for _, pattern := range []string{strings.Repeat("*{a,b}", 6), strings.Repeat("**/", 80) + "b", strings.Repeat("*a", 120) + "b", strings.Repeat("*{a,b}", 6) + strings.Repeat("*a", 100) + "b"} {
		if _, err := walk(t, w, ".", capability.WalkOptions{Include: pattern}); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("matching took %v", took)
	}
}

func TestWalkStops(t *testing.T) {
	w, dir := open(t)
	for i := range 20 {
		write(t, filepath.Join(dir, fmt.Sprintf("file%02d", i)), "")
	}
	enough := errors.New("enough")
	visited := 0
	if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(capability.Entry, error) error {
		if visited++; visited == 5 {
			return enough
		}
		return nil
	}); err != enough || visited != 5 {
		t.Errorf("visited %d, %v", visited, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	visited = 0
	if err := w.Walk(ctx, ".", capability.WalkOptions{}, func(capability.Entry, error) error {
		if visited++; visited == 5 {
			cancel()
		}
		return nil
	}); !errors.Is(err, context.Canceled) || visited != 5 {
		t.Errorf("visited %d, %v, want context.Canceled", visited, err)
	}
}

// Directories deeper than a path may be long are reported, not lost.
func TestWalkDeep(t *testing.T) {
	w, dir := open(t)
	deep := strings.Repeat(strings.Repeat("d", 250)+"/", 15)
	write(t, filepath.Join(dir, deep, "file"), "")
	t.Chdir(filepath.Join(dir, deep))
	write(t, strings.Repeat(strings.Repeat("e", 250)+"/", 3)+"below", "")
	var files, failed int
	if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(e capability.Entry, err error) error {
		switch {
		case err != nil:
			failed++
			if !errors.Is(err, capability.ErrBadPath) {
				t.Errorf("%v, want ErrBadPath", err)
			}
		case e.Type == capability.TypeFile:
			files++
		}
		return nil
	}); err != nil || files != 1 || failed != 1 {
		t.Errorf("%d files, %d failed, %v, want 1, 1", files, failed, err)
	}
}
