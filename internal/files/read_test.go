package files_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func read(t *testing.T, w *files.Workspace, path string, limit int64) (string, capability.Entry, error) {
	t.Helper()
	f, entry, err := w.Open(t.Context(), path, limit)
	if err != nil {
		return "", entry, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	return string(content), entry, err
}

func TestReadLimit(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "ten"), "0123456789")
	write(t, filepath.Join(dir, "empty"), "")
	for _, c := range []struct {
		path    string
		limit   int64
		content string
		want    error
	}{
		{"ten", 11, "0123456789", nil},
		{"ten", 10, "0123456789", nil},
		{"ten", 9, "012345678", capability.ErrTooLarge},
		{"ten", 0, "", capability.ErrTooLarge},
		{"empty", 0, "", nil},
		{"empty", 1, "", nil},
		{"./sub/../ten", 10, "0123456789", nil},
	} {
		content, entry, err := read(t, w, c.path, c.limit)
		if content != c.content || !errors.Is(err, c.want) {
			t.Errorf("%s up to %d: %q, %v, want %q, %v", c.path, c.limit, content, err, c.content, c.want)
		}
		if want := filepath.Base(c.path); entry.Path != want || entry.Type != capability.TypeFile || (entry.Size != 10 && want == "ten") {
			t.Errorf("%s is %+v", c.path, entry)
		}
	}
	f, _, err := w.Open(t.Context(), "ten", 10)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := iotest.TestReader(f, []byte("0123456789")); err != nil {
		t.Error(err)
	}
}

func TestReadLinksInside(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "a", "b", "file"), "inside")
	link(t, "a/b", filepath.Join(dir, "dirlink"))
	link(t, "../a/b/file", filepath.Join(dir, "a", "filelink"))
	link(t, "dirlink/../../a/filelink", filepath.Join(dir, "chain"))
	for _, path := range []string{"a/b/file", "dirlink/file", "a/filelink", "chain", "dirlink//file"} {
		if got, _, err := read(t, w, path, 100); err != nil || got != "inside" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{".", "a", "a/", "a/b/file/", "dirlink"} {
		if _, _, err := read(t, w, path, 100); !errors.Is(err, capability.ErrIsDir) {
			t.Errorf("%s: %v, want ErrIsDir", path, err)
		}
	}
}

// A file of a terabyte costs what is read of it.
func TestReadSparse(t *testing.T) {
	w, dir := open(t)
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	content, entry, err := read(t, w, "sparse", 1<<20)
	if content != strings.Repeat("\x00", 1<<20) || !errors.Is(err, capability.ErrTooLarge) {
		t.Errorf("read %d bytes, %v, want 1 MiB and ErrTooLarge", len(content), err)
	}
	if entry.Size != 1<<40 {
		t.Errorf("size %d", entry.Size)
	}
	if err := w.Replace(t.Context(), "sparse", []byte("small"), capability.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, filepath.Join(dir, "sparse")); got != "small" {
		t.Errorf("it holds %.20q", got)
	}
}
