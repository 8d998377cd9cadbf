package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/files"
)

// open makes a workspace whose parent directory holds a secret beside it.
func open(t *testing.T) (w *files.Workspace, dir string) {
	t.Helper()
	parent := t.TempDir()
	dir = filepath.Join(parent, "workspace")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(parent, "secret"), secret)
	if err := os.Mkdir(filepath.Join(parent, "outside"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(parent, "outside", "file"), secret)
	w, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, dir
}

const secret = "what stands outside"

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// names lists a directory of the host.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return strings.Join(found, " ")
}

func TestOpenNeedsDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	for _, dir := range []string{file, filepath.Join(t.TempDir(), "missing")} {
		if w, err := files.Open(dir); err == nil {
			_ = w.Close()
			t.Errorf("Open(%q) = nil, want an error", dir)
		}
	}
}
