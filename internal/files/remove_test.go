package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A condition on what is there is held against what is there, and nothing changes without it.
func TestConditions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for _, name := range []string{"file", "gone"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "dir"), 0o700), os.Symlink("file", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, expected string
		want           error
	}{
		{"file", hexSum("other"), capability.ErrChanged},
		{"file", capability.Absent, capability.ErrChanged},
		{"new", hexSum("old"), capability.ErrChanged},
		{"link", hexSum("other"), capability.ErrChanged}, // of what it points to
		{"new", capability.Absent, nil},
		{"file", hexSum("old"), nil},
	} {
		if err := w.Replace(t.Context(), c.name, []byte("next"), capability.ReplaceOptions{If: c.expected}); !errors.Is(err, c.want) {
			t.Errorf("replace %s if %s: %v", c.name, c.expected, err)
		}
	}
	for _, c := range []struct {
		name, expected string
		want           error
	}{
		{"gone", hexSum("next"), capability.ErrChanged},
		{"gone", "dir", capability.ErrChanged},
		{"dir", hexSum("old"), capability.ErrChanged},
		{"link", hexSum("next"), capability.ErrChanged},
		{"gone", hexSum("old"), nil},
		{"dir", "dir", nil},
		{"link", "symlink", nil},
	} {
		if err := w.Remove(t.Context(), c.name, capability.RemoveOptions{If: c.expected}); !errors.Is(err, c.want) {
			t.Errorf("remove %s if %s: %v", c.name, c.expected, err)
		}
	}
	if got := listDir(t, dir); got != "file new" {
		t.Errorf("the directory holds %s", got)
	}
}

// What a dead writer has left does not keep a directory from being removed, and what others have does.
func TestRemoveDirWithAbandonedTemp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	left := filepath.Join(dir, "d", tempNames("file")[0])
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "d"), 0o700), os.WriteFile(left, []byte("half"), 0o600), os.WriteFile(filepath.Join(dir, "d", "f"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(t.Context(), "d", capability.RemoveOptions{}); !errors.Is(err, capability.ErrNotEmpty) {
		t.Errorf("with a file: %v", err)
	}
	if err := errors.Join(w.Remove(t.Context(), "d/f", capability.RemoveOptions{}), w.Remove(t.Context(), "d", capability.RemoveOptions{})); err != nil {
		t.Error(err)
	}
}
