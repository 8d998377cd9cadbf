package files_test

import (
	"context"
	"errors"
	"go/version"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// operations are all ways in, each on one path.
func operations(w *files.Workspace) map[string]func(ctx context.Context, path string) error {
	return map[string]func(context.Context, string) error{
		"open": func(ctx context.Context, path string) error {
			f, _, err := w.Open(ctx, path, 1<<20)
			if err == nil {
				return f.Close()
			}
			return err
		},
		"list": func(ctx context.Context, path string) error {
			_, err := w.List(ctx, path, 10)
			return err
		},
		"walk": func(ctx context.Context, path string) error {
			return w.Walk(ctx, path, capability.WalkOptions{}, func(capability.Found) error { return nil })
		},
		"replace": func(ctx context.Context, path string) error {
			return w.Replace(ctx, path, []byte("new"), capability.ReplaceOptions{})
		},
		"replace, creating directories": func(ctx context.Context, path string) error {
			return w.Replace(ctx, path, []byte("new"), capability.ReplaceOptions{CreateDirs: true})
		},
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	w, dir := open(t)
	parent := filepath.Dir(dir)
	write(t, filepath.Join(dir, "in", "file"), "inside")
	link(t, "../secret", filepath.Join(dir, "up"))
	link(t, filepath.Join(parent, "secret"), filepath.Join(dir, "absolute"))
	link(t, filepath.Join(dir, "in", "file"), filepath.Join(dir, "absolute-inside"))
	link(t, "../outside", filepath.Join(dir, "updir"))
	link(t, "/proc/self/root"+parent, filepath.Join(dir, "proc"))
	link(t, "../new", filepath.Join(dir, "dangling"))
	link(t, "up", filepath.Join(dir, "in", "..up"))
	link(t, "../in/../../secret", filepath.Join(dir, "in", "winding"))
	link(t, "..", filepath.Join(dir, "dotdot"))
	for _, path := range []string{
		"..", "../", "../secret", "in/../../secret", "./../secret", "in/../../workspace/../secret", "//secret", "/",
		"/etc/passwd", dir + "/in/file", "/proc/self/root/etc/passwd", "up", "up/", "./up", "in/../up", "absolute", "absolute-inside",
		"updir", "updir/", "updir/.", "updir/file", "updir//file", "updir/sub/new", "proc", "proc/secret", "proc/outside/file",
		"dangling", "dangling/", "in/winding", "dotdot", "dotdot/", "dotdot/secret", "dotdot/outside/file",
	} {
		for name, op := range operations(w) {
			err := op(t.Context(), path)
			// A slash at the end asks for a directory, which is refused earlier.
			if !errors.Is(err, capability.ErrOutside) && !(strings.HasSuffix(path, "/") && errors.Is(err, capability.ErrIsDir)) {
				t.Errorf("%s %q: %v, want ErrOutside", name, path, err)
			}
		}
	}
	if got := mustRead(t, filepath.Join(parent, "secret")) + mustRead(t, filepath.Join(parent, "outside", "file")); got != secret+secret {
		t.Errorf("a file outside was changed: %q", got)
	}
	if got := names(t, parent) + ", " + names(t, filepath.Join(parent, "outside")); got != "outside secret workspace, file" {
		t.Errorf("outside stand %s", got)
	}
}

func TestBadPaths(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, ".pawl-tmp-x"), "reserved")
	write(t, filepath.Join(dir, "file"), "x")
	link(t, "loop", filepath.Join(dir, "loop"))
	link(t, ".pawl-tmp-x", filepath.Join(dir, "to-reserved"))
	for path, want := range map[string]error{
		"":                               capability.ErrBadPath,
		"a\x00b":                         capability.ErrBadPath,
		"file\x00":                       capability.ErrBadPath,
		strings.Repeat("n", 256):         capability.ErrBadPath,
		strings.Repeat("a/", 3000):       capability.ErrBadPath,
		"loop":                           capability.ErrBadPath,
		".pawl-tmp-x":                    capability.ErrBadPath,
		".pawl-tmp-y/file":               capability.ErrBadPath,
		"file/below":                     capability.ErrNotDir,
		"file/../file/below":             capability.ErrNotDir,
		strings.Repeat("a/", 2000) + "b": capability.ErrNotExist,
	} {
		for name, op := range operations(w) {
			if name == "replace, creating directories" && want == capability.ErrNotExist {
				continue
			}
			if err := op(t.Context(), path); !errors.Is(err, want) {
				t.Errorf("%s %.20q (%d bytes): %v, want %v", name, path, len(path), err, want)
			}
		}
	}
	if err := operations(w)["replace"](t.Context(), "to-reserved"); !errors.Is(err, capability.ErrBadPath) {
		t.Errorf("replacing a reserved name by a link: %v, want ErrBadPath", err)
	}
}

func TestLongAndOddNames(t *testing.T) {
	w, dir := open(t)
	for _, name := range []string{
		strings.Repeat("n", 255), "..", "...", "..name", "-rf", "a b", "tab\there", "new\nline", "ünï", "bad\xff\xfeutf8", "~", "$HOME", "CON", `back\slash`, ".pawl-policy",
	} {
		path := "names/" + name + "/" + name
		if name == ".." {
			path = "names/../plain"
		}
		if err := w.Replace(t.Context(), path, []byte(name), capability.ReplaceOptions{CreateDirs: true}); err != nil {
			t.Errorf("Replace(%q): %v", path, err)
			continue
		}
		if got := mustRead(t, filepath.Join(dir, filepath.Clean(path))); got != name {
			t.Errorf("%q holds %q", path, got)
		}
	}
}

func TestErrorsHoldNoPath(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "walkable", "hunter2"), "hunter2")
	link(t, "../hunter2", filepath.Join(dir, "hunter2"))
	closed, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, workspace := range []*files.Workspace{w, closed} {
		for name, op := range operations(workspace) {
			for _, path := range []string{"hunter2", "../hunter2", "walkable/hunter2/hunter2", "walkable/hunter2/" + strings.Repeat("hunter2", 40)} {
				err := op(t.Context(), path)
				if err == nil || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s %.30q: %v, want an error without the path", name, path, err)
				}
			}
		}
	}
	if _, err := closed.List(t.Context(), ".", 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("listing a closed workspace: %v, want os.ErrClosed", err)
	}
}

func TestContextEnds(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "file"), "x")
	ctx, cancel := context.WithCancel(t.Context())
	f, _, err := w.Open(ctx, "file", 10)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cancel()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v, want context.Canceled", err)
	}
	for name, op := range operations(w) {
		for _, path := range []string{".", "file", "made/file"} {
			if err := op(ctx, path); !errors.Is(err, context.Canceled) && !errors.Is(err, capability.ErrIsDir) && !errors.Is(err, capability.ErrNotDir) {
				t.Errorf("%s %q: %v, want context.Canceled", name, path, err)
			}
		}
	}
	if got := names(t, dir) + mustRead(t, filepath.Join(dir, "file")); got != "filex" {
		t.Errorf("the workspace holds %q", got)
	}
}

// Before Go 1.26.5 a link with a slash after it led os.Root outside (CVE-2026-39822).
func TestGoVersion(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\ngo ")
	least, _, _ := strings.Cut(rest, "\n")
	if version.Compare("go"+least, "go1.26.5") < 0 {
		t.Errorf("Go %s may build the module", least)
	}
}
