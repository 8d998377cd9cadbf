package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

type found struct {
	Matches []struct {
		Path          string `json:"path"`
		Line          int    `json:"line"`
		Text          string `json:"text"`
		Before, After []string
	} `json:"matches"`
	Total         int    `json:"total"`
	Truncated     bool   `json:"truncated"`
	Incomplete    bool   `json:"incomplete"`
	Remark        string `json:"remark"`
	FilesSearched int    `json:"filesSearched"`
	FilesSkipped  int    `json:"filesSkipped"`
}

func (f found) lines() string {
	var all []string
	for _, m := range f.Matches {
		all = append(all, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
	}
	return strings.Join(all, " | ")
}

// grep runs the tool by a clock that stands still while it works: it has ten seconds, which a busy machine may take.
func grep(t *testing.T, dir string, args map[string]any) (got found, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { got, err = run[found](t, tools.Grep(), dir, args) })
	return got, err
}

func TestGrep(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"a.txt": "one\nTwo two\r\nthree", "sub/b.go": "func two() {\n}\n", "sub/deep/c.ts": "a.b\naxb\n", ".git/two": "two\n",
		"node_modules/x/two.js": "two\n", "sub/.hidden": "hidden two\n", "latin": "two caf\xe9\n", "nul": "two\x00\n", "empty": "",
		".pawl-tmp-left": "two\n", "paren": "f(x)\n",
	} {
		write(t, filepath.Join(dir, path), content)
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	type args = map[string]any
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "two"}, "a.txt:2:Two two | latin:1:two caf\uFFFD | sub/.hidden:1:hidden two | sub/b.go:1:func two() {"},
		{args{"pattern": "TWO"}, ""},
		{args{"pattern": "TWO T", "ignoreCase": true}, "a.txt:2:Two two"},
		{args{"pattern": "^two", "regex": true}, "latin:1:two caf\uFFFD"},
		{args{"pattern": "^two", "regex": true, "ignoreCase": true}, "a.txt:2:Two two | latin:1:two caf\uFFFD"},
		{args{"pattern": "two$", "regex": true, "path": "a.txt"}, "a.txt:2:Two two"},
		{args{"pattern": "a.b"}, "sub/deep/c.ts:1:a.b"},
		{args{"pattern": "a.b", "ignoreCase": true}, "sub/deep/c.ts:1:a.b"},
		{args{"pattern": "a.b", "regex": true}, "sub/deep/c.ts:1:a.b | sub/deep/c.ts:2:axb"},
		{args{"pattern": "f(x"}, "paren:1:f(x)"},
		{args{"pattern": "two", "path": "sub"}, "sub/.hidden:1:hidden two | sub/b.go:1:func two() {"},
		{args{"pattern": "two", "include": "*.{go,ts}"}, "sub/b.go:1:func two() {"},
		{args{"pattern": "b", "include": "sub/**/*.ts"}, "sub/deep/c.ts:1:a.b | sub/deep/c.ts:2:axb"},
		{args{"pattern": "two", "path": ".git"}, ".git/two:1:two"},
		{args{"pattern": "two", "path": "node_modules/x"}, "node_modules/x/two.js:1:two"},
		{args{"pattern": "two", "path": "link"}, "link:2:Two two"},
		{args{"pattern": "two", "maxMatches": 1}, "a.txt:2:Two two"},
		{args{"pattern": "nowhere"}, ""},
	} {
		got, err := grep(t, dir, c.args)
		if err != nil || got.lines() != c.want || got.Matches == nil || got.Incomplete {
			t.Errorf("%v:\n got %s, %+v, %v\nwant %s", c.args, got.lines(), got, err, c.want)
		}
		if c.args["maxMatches"] != nil && (got.Total != 4 || !got.Truncated) || c.args["maxMatches"] == nil && (got.Total != len(got.Matches) || got.Truncated) {
			t.Errorf("%v: total %d of %d, truncated %v", c.args, got.Total, len(got.Matches), got.Truncated)
		}
	}
	got, err := grep(t, dir, args{"pattern": "two"})
	if err != nil || got.FilesSearched != 7 || got.FilesSkipped != 1 {
		t.Errorf("searched %d, skipped %d, %v", got.FilesSearched, got.FilesSkipped, err)
	}
}

func TestGrepBadPatterns(t *testing.T) {
	dir := t.TempDir()
	type args = map[string]any
	const invalid, complex = "the pattern is not a valid RE2 regular expression", "the pattern is too complex: it compiles to more than 1000 instructions; " +
		"repeat less, for {n} multiplies what it follows, or search for the parts in separate calls"
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "hunter2(", "regex": true}, invalid},
		{args{"pattern": "a)(b", "regex": true, "ignoreCase": true}, invalid},
		{args{"pattern": `(?=x)`, "regex": true}, invalid},
		{args{"pattern": `x{1001}`, "regex": true}, invalid},
		{args{"pattern": `(.{100}){10}.{999}`, "regex": true}, complex},
		{args{"pattern": strings.Repeat(".{900}", 20), "regex": true}, complex},
		{args{"pattern": strings.Repeat("a{1000}", 140), "regex": true}, complex},
		{args{"pattern": `(?:a?){400}a{300}b`, "regex": true}, complex},
		{args{"pattern": `(?:\pL?){500}`, "regex": true}, complex},
		{args{"pattern": "a\nb"}, "the pattern must be within one line"},
		{args{"pattern": "a", "include": "{a"}, "the glob pattern is not valid"},
		{args{"pattern": "a", "include": strings.Repeat("{a,a}", 40)}, "the glob pattern is not valid"},
	} {
		_, err := grep(t, dir, c.args)
		wantSafe(t, fmt.Sprint(c.args), err, c.want)
	}
}

func TestGrepBoundary(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		there, most, shown int
	}{
		{99, 0, 99}, {100, 0, 100}, {101, 0, 50}, {5000, 0, 50}, {100, 100, 100}, {101, 100, 50}, {60, 60, 60}, {61, 60, 60}, {101, 60, 50}, {101, 10, 10},
	} {
		write(t, filepath.Join(dir, "a"), strings.Repeat("hit\nmiss\n", c.there/2))
		write(t, filepath.Join(dir, "b"), strings.Repeat("hit\n", c.there-c.there/2))
		args := map[string]any{"pattern": "hit"}
		if c.most > 0 {
			args["maxMatches"] = c.most
		}
		got, err := grep(t, dir, args)
		if err != nil || got.Total != c.there || len(got.Matches) != c.shown || got.Truncated != (c.shown < c.there) || got.Incomplete {
			t.Errorf("%+v: %d of %d, truncated %v, incomplete %v, %v", c, len(got.Matches), got.Total, got.Truncated, got.Incomplete, err)
		}
		if got.Matches[0].Path != "a" || got.Matches[0].Line != 1 || got.Matches[1].Line != 3 {
			t.Errorf("%+v: begins with %+v", c, got.Matches[:2])
		}
	}
}

func TestGrepLongLines(t *testing.T) {
	dir := t.TempDir()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ name, line, want string }{
		{"500", "hit" + x(497), "hit" + x(497)},
		{"501", "hit" + x(498), "hit" + x(497)},
		{"a character across the cut", "hit" + x(496) + "€" + x(10), "hit" + x(496)},
		{"the hit ends at 500", x(497) + "hit" + x(10), x(497) + "hit"},
		{"the hit crosses 500", x(498) + "hit" + x(10), x(100) + "hit" + x(10)},
		{"the hit far to the right", x(900_000) + "hit" + x(1000), x(100) + "hit" + x(397)},
		{"a character across its beginning", x(900) + "€" + x(98) + "hit", "€" + x(98) + "hit"},
	} {
		write(t, filepath.Join(dir, "file"), "\n"+c.line+"\n")
		got, err := grep(t, dir, map[string]any{"pattern": "hit"})
		if err != nil || len(got.Matches) != 1 || got.Matches[0].Text != c.want || got.Matches[0].Line != 2 || !utf8.ValidString(got.Matches[0].Text) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	// An expression is applied to the beginning of a very long line only, and the
	// answer says so if it has not matched there.
	for _, c := range []struct {
		at         int
		total      int
		incomplete bool
	}{{16<<10 - 3, 1, false}, {16<<10 - 2, 0, true}, {900_000, 0, true}} {
		write(t, filepath.Join(dir, "file"), x(c.at)+"hit"+x(20000))
		got, err := grep(t, dir, map[string]any{"pattern": "h.t", "regex": true})
		if err != nil || got.Total != c.total || got.Incomplete != c.incomplete || got.Truncated != c.incomplete ||
			c.incomplete != strings.HasPrefix(got.Remark, "1 lines are longer than 16 KiB") {
			t.Errorf("at %d: %+v, %v", c.at, got, err)
		}
	}
}

// TestGrepLargeFiles: a file of any size is searched, and 1 TB of nothing costs nothing.
func TestGrepLargeFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "large"), strings.Repeat(strings.Repeat("x", 1023)+"\n", 5<<10)+"é hit\nend\n")
	got, err := grep(t, dir, map[string]any{"pattern": "hit", "before": 1, "after": 2})
	if err != nil || got.lines() != "large:5121:é hit" || got.FilesSearched != 1 || got.Incomplete ||
		len(got.Matches[0].Before) != 1 || len(got.Matches[0].Before[0]) != 200 || fmt.Sprint(got.Matches[0].After) != "[end]" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.Truncate(filepath.Join(dir, "large"), 1<<40); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "next"), "y")
	got, err = grep(t, dir, map[string]any{"pattern": "y"})
	if err != nil || got.Total != 1 || got.FilesSkipped != 1 || got.Incomplete {
		t.Errorf("beside 1 TB: %+v, %v", got, err)
	}
}

func TestGrepAround(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "1\n2\nhit\nhit 4\n"+strings.Repeat("€", 67)+"\n6\r\n7\n")
	for _, c := range []struct {
		before, after int
		want          string
	}{
		{0, 0, "[] 3 [] [] 4 []"},
		{1, 0, "[2] 3 [] [hit] 4 []"},
		{5, 1, "[1 2] 3 [hit 4] [1 2 hit] 4 [" + strings.Repeat("€", 66) + "]"},
		{0, 5, "[] 3 [hit 4 " + strings.Repeat("€", 66) + " 6 7] [] 4 [" + strings.Repeat("€", 66) + " 6 7]"},
	} {
		got, err := grep(t, dir, map[string]any{"pattern": "hit", "before": c.before, "after": c.after})
		if err != nil || len(got.Matches) != 2 {
			t.Errorf("%+v: %+v, %v", c, got, err)
			continue
		}
		a, b := got.Matches[0], got.Matches[1]
		if all := fmt.Sprint(a.Before, " ", a.Line, " ", a.After, " ", b.Before, " ", b.Line, " ", b.After); all != c.want {
			t.Errorf("%+v: %s, want %s", c, all, c.want)
		}
	}
	if _, err := grep(t, dir, map[string]any{"pattern": "hit", "before": 6}); err == nil {
		t.Error("6 lines before a match were taken")
	}
}

func TestGrepIgnoreFiles(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		".gitignore": "build/\n*.log\n", "a.txt": "hit", "a.log": "hit", "build/x": "hit", "sub/.ignore": "y\n", "sub/y": "hit", "sub/z": "hit",
		".git/info/exclude": "b.txt\n", "b.txt": "hit", "vendor/v": "hit", ".env": "hit",
	} {
		write(t, filepath.Join(dir, path), content)
	}
	type args = map[string]any
	for _, c := range []struct {
		args args
		want string
	}{
		{args{}, ".env a.txt sub/z vendor/v"},
		{args{"exclude": "vendor"}, ".env a.txt sub/z"},
		{args{"exclude": "{vendor/**,sub/z,.*}"}, "a.txt"},
		{args{"path": "build"}, "build/x"},
		{args{"path": "sub"}, "sub/z"},
		{args{"path": "a.log"}, "a.log"},
		{args{"includeIgnored": true}, ".env a.log a.txt b.txt build/x sub/y sub/z vendor/v"},
	} {
		c.args["pattern"] = "hit"
		got, err := grep(t, dir, c.args)
		var paths []string
		for _, m := range got.Matches {
			paths = append(paths, m.Path)
		}
		if err != nil || strings.Join(paths, " ") != c.want {
			t.Errorf("%v: %v, %v, want %s", c.args, paths, err, c.want)
		}
	}
}

// broken are files with which nothing works but in one way.
func broken(err error) capability.Files { return brokenFiles{err} }

type brokenFiles struct{ err error }

func (f brokenFiles) List(context.Context, string, int) (capability.Listing, error) {
	return capability.Listing{}, f.err
}

func (f brokenFiles) Open(context.Context, string, int64) (io.ReadCloser, capability.Entry, error) {
	return nil, capability.Entry{}, f.err
}

func (f brokenFiles) Walk(context.Context, string, capability.WalkOptions, func(capability.Found) error) error {
	return f.err
}

func (f brokenFiles) Replace(context.Context, string, []byte, capability.ReplaceOptions) error {
	return f.err
}

func (f brokenFiles) ReplaceFrom(context.Context, string, io.Reader, capability.ReplaceOptions) error {
	return f.err
}

func (f brokenFiles) Stat(context.Context, string) (capability.Entry, error) {
	return capability.Entry{}, f.err
}

func (f brokenFiles) Resolve(context.Context, string) (string, error) { return "", f.err }

func (f brokenFiles) Remove(context.Context, string, capability.RemoveOptions) error { return f.err }

// slowFiles take four seconds for each of endlessly many files.
type slowFiles struct{ brokenFiles }

func (slowFiles) Walk(ctx context.Context, _ string, _ capability.WalkOptions, visit func(capability.Found) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(4 * time.Second):
		}
		if err := visit(hitFile{}); err != nil {
			return err
		}
	}
}

// hitFile is a file with one line.
type hitFile struct{}

func (hitFile) Path() string                    { return "file" }
func (hitFile) Err() error                      { return nil }
func (hitFile) Stat() (capability.Entry, error) { return capability.Entry{Path: "file"}, nil }
func (hitFile) Open() (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader("hit\n")), 4, nil
}

func TestGrepStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got, err := runWith[found](t.Context(), t, tools.Grep(), slowFiles{}, map[string]any{"pattern": "hit"})
		if took := time.Since(start); err != nil || took != 10*time.Second || got.Total != 2 || len(got.Matches) != 2 || !got.Incomplete || !got.Truncated || !strings.Contains(got.Remark, "10 seconds") {
			t.Errorf("slow: %+v, %v after %v", got, err, took)
		}
		// The end of the call's own context is not an answer.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if got, err := runWith[found](ctx, t, tools.Grep(), slowFiles{}, map[string]any{"pattern": "hit"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("out of time: %+v, %v", got, err)
		}
	})
}
