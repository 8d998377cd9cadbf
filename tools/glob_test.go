package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type globbed struct {
	Paths       []string
	Total       int
	Truncated   bool
	Incomplete  bool
	Remark      string
	DirsSkipped int
}

// glob runs the tool by a clock that stands still while it works, as grep does.
func glob(t *testing.T, dir string, args map[string]any) (got globbed, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { got, err = run[globbed](t, tools.Glob(), dir, args) })
	return got, err
}

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for i, path := range []string{
		"old.go", "sub/deep/new.go", "sub/b_test.go", ".github/ci.yml", "a.ts", "a-b/x.tsx", "a/x.tsx", "build/gen.go", ".git/x.go", "node_modules/m/x.go", "vendor/v.go",
	} {
		write(t, filepath.Join(dir, path), "")
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(filepath.Join(dir, path), at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".gitignore"), "/build\n")
	if err := os.Symlink("old.go", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.go"), 0o666); err != nil {
		t.Fatal(err)
	}
	type args = map[string]any
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "*.go"}, "vendor/v.go sub/b_test.go sub/deep/new.go old.go"},
		{args{"pattern": "*.go", "sort": "path"}, "old.go sub/b_test.go sub/deep/new.go vendor/v.go"},
		{args{"pattern": "*.{ts,tsx}", "sort": "path"}, "a/x.tsx a-b/x.tsx a.ts"},
		{args{"pattern": "**/*_test.go"}, "sub/b_test.go"},
		{args{"pattern": "deep/*", "path": "sub"}, "sub/deep/new.go"},
		{args{"pattern": "*.yml"}, ".github/ci.yml"},
		{args{"pattern": "*.go", "exclude": "{sub/**,vendor}"}, "old.go"},
		{args{"pattern": "*.go", "includeIgnored": true, "path": "build"}, "build/gen.go"},
		{args{"pattern": "gen.go"}, ""},
		{args{"pattern": "gen.go", "includeIgnored": true}, "build/gen.go"},
		{args{"pattern": "x.go", "path": "node_modules"}, "node_modules/m/x.go"},
		{args{"pattern": "nothing"}, ""},
	} {
		got, err := glob(t, dir, c.args)
		if err != nil || strings.Join(got.Paths, " ") != c.want || got.Paths == nil || got.Total != len(got.Paths) || got.Truncated || got.Incomplete {
			t.Errorf("%v: %+v, %v, want %s", c.args, got, err, c.want)
		}
	}
	_, err := glob(t, dir, args{"pattern": "{a"})
	wantSafe(t, "a bad pattern", err, "the glob pattern is not valid")
}

// globFiles are n files with long names, each newer than the one before, and a directory that cannot be read.
type globFiles struct {
	brokenFiles
	n, width int
}

func (g globFiles) Walk(_ context.Context, _ string, _ capability.WalkOptions, visit func(capability.Found) error) error {
	for i := range g.n {
		if err := visit(globFile{path: fmt.Sprintf("%07d%s", i, strings.Repeat("é", g.width)), at: time.Unix(int64(i), 0)}); err != nil {
			return err
		}
	}
	return visit(globFile{err: capability.ErrPermission})
}

type globFile struct {
	hitFile
	path string
	at   time.Time
	err  error
}

func (f globFile) Path() string { return f.path }
func (f globFile) Err() error   { return f.err }
func (f globFile) Stat() (capability.Entry, error) {
	return capability.Entry{Path: f.path, Modified: f.at}, f.err
}

func TestGlobLimits(t *testing.T) {
	for _, c := range []struct {
		files globFiles
		shown int
		stops bool
	}{
		{globFiles{n: 9_999}, 9_999, false},
		{globFiles{n: 10_000}, 10_000, false},
		{globFiles{n: 10_001}, 10_000, false},
		{globFiles{n: 45_000}, 10_000, false},
		{globFiles{n: 1_000_001}, 10_000, true},
		// In 512 KiB are 512 paths of 1023 bytes, and 511 of 1025.
		{globFiles{n: 512, width: 508}, 512, false},
		{globFiles{n: 513, width: 508}, 512, false},
		{globFiles{n: 512, width: 509}, 511, false},
	} {
		for _, sort := range []string{"modified", "path"} {
			got, err := runWith[globbed](t.Context(), t, tools.Glob(), c.files, map[string]any{"pattern": "*", "sort": sort})
			if err != nil || len(got.Paths) != c.shown || got.Total != min(c.files.n, 1_000_000) || got.Truncated != (c.shown < c.files.n) || got.Incomplete != c.stops {
				t.Errorf("%+v by %s: %d paths of %d, truncated %v, %q, %v", c.files, sort, len(got.Paths), got.Total, got.Truncated, got.Remark, err)
				continue
			}
			first := 0
			if sort == "modified" {
				first = min(c.files.n, 1_000_000) - 1
			}
			if !strings.HasPrefix(got.Paths[0], fmt.Sprintf("%07d", first)) || !utf8.ValidString(got.Paths[len(got.Paths)-1]) {
				t.Errorf("%+v by %s: begins with %.20q", c.files, sort, got.Paths[0])
			}
			if got.DirsSkipped != 1 && !c.stops {
				t.Errorf("%d directories skipped", got.DirsSkipped)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		got, err := runWith[globbed](t.Context(), t, tools.Glob(), slowFiles{}, map[string]any{"pattern": "*"})
		if err != nil || got.Total != 2 || !got.Incomplete || !got.Truncated || !strings.Contains(got.Remark, "10 seconds") {
			t.Errorf("slow: %+v, %v", got, err)
		}
	})
}
