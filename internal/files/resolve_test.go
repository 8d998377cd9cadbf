package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// A path and where it leads have the same file.
func TestResolve(t *testing.T) {
	t.Parallel()
	w, dir := open(t)
	write(t, filepath.Join(dir, "a", "b", "file"), "text")
	link(t, "a/b", filepath.Join(dir, "dir"))
	link(t, "dir/file", filepath.Join(dir, "far"))
	link(t, "../../dir/../b/file", filepath.Join(dir, "a", "b", "winding"))
	link(t, "a/new", filepath.Join(dir, "dangling"))
	link(t, "loop", filepath.Join(dir, "loop"))
	for name, want := range map[string]string{
		".": ".", "a/b": "a/b", "./a//b/../b/file": "a/b/file", "dir": "a/b", "dir/file": "a/b/file", "far": "a/b/file",
		"a/b/winding": "a/b/file", "dir/winding": "a/b/file", "dangling": "a/new", "dir/none/x": "a/b/none/x", "none": "none",
	} {
		got, err := w.Resolve(t.Context(), name)
		if got != want || err != nil {
			t.Errorf("%q leads to %q, %v, want %q", name, got, err, want)
		}
		named, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if resolved, err := os.Lstat(filepath.Join(dir, got)); err != nil || !os.SameFile(named, resolved) {
			t.Errorf("%q and %q are two files: %v", name, got, err)
		}
	}
	link(t, "../outside", filepath.Join(dir, "up"))
	link(t, filepath.Join(dir, "a"), filepath.Join(dir, "absolute"))
	link(t, "a/../../secret", filepath.Join(dir, "out"))
	for _, name := range []string{"..", "/etc/passwd", "a/../../secret", "up", "up/file", "absolute/b", "out", "a/b/../../../secret"} {
		if got, err := w.Resolve(t.Context(), name); !errors.Is(err, capability.ErrOutside) {
			t.Errorf("%q leads to %q, %v, want ErrOutside", name, got, err)
		}
	}
	if _, err := w.Resolve(t.Context(), "loop"); !errors.Is(err, capability.ErrBadPath) {
		t.Errorf("a loop: %v", err)
	}
}
