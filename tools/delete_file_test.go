package tools_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

func TestDeleteFile(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "file"), "text\n")
	write(t, filepath.Join(dir, "full", "file"), "text\n")
	write(t, filepath.Join(dir, "readonly"), "text\n")
	write(t, filepath.Join(outside, "file"), "text\n")
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "empty"), 0o755), os.Chmod(filepath.Join(dir, "readonly"), 0o400),
		os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "link")), os.Symlink(outside, filepath.Join(dir, "out")),
	); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"file": "deletes \"file\"\n--- file\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n",
		"link": "deletes the symbolic link \"link\", and not what it points to\n", "empty": "deletes the directory \"empty\", which must be empty\n",
	} {
		call := pawltest.Call{Tool: tools.DeleteFile(), Args: map[string]any{"path": path}, Workspace: dir}
		shown := call.Preview(t)
		if shown.Text != want || shown.Digest == "" {
			t.Errorf("%s: %+v", path, shown)
		}
		call.PreviewDigest = shown.Digest
		for call.Attempt = 1; call.Attempt <= 2; call.Attempt++ { // the second finds nothing
			if got := call.Run(t); !got.Result.OK || string(got.Value) != `{"deleted":true}` {
				t.Errorf("%s, attempt %d: %+v", path, call.Attempt, got.Result)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"file": "there is nothing at the path", "full": "the directory is not empty", ".": "the path is a directory",
		"../x": "the path leads outside the workspace", "out/file": "the path leads outside the workspace", "/etc/passwd": "the path leads outside the workspace",
	} {
		_, err := run[struct{}](t, tools.DeleteFile(), dir, map[string]any{"path": path})
		wantSafe(t, path, err, want)
	}
	if os.Getuid() != 0 {
		_, err := run[struct{}](t, tools.DeleteFile(), dir, map[string]any{"path": "readonly"})
		wantSafe(t, "readonly", err, "permission denied")
	}
	holds(t, "outside", filepath.Join(outside, "file"), "text\n")
}

// Between the question and the attempt something else has come to the path.
func TestDeleteFileIsStale(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"other text": func(path string) error { return os.WriteFile(path, []byte("precious\n"), 0o600) },
		"directory":  func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"link":       func(path string) error { return errors.Join(os.Remove(path), os.Symlink("else", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			write(t, path, "text\n")
			call := pawltest.Call{Tool: tools.DeleteFile(), Args: map[string]any{"path": "f"}, Workspace: dir}
			call.PreviewDigest = call.Preview(t).Digest
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			for call.Attempt = 1; call.Attempt <= 2; call.Attempt++ {
				if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeApprovalStale {
					t.Errorf("attempt %d: %+v", call.Attempt, got.Result)
				}
			}
			if _, err := os.Lstat(path); err != nil {
				t.Error(err)
			}
		})
	}
}

// A deletion without an approval has no preview. So the next attempt cannot know which file the lost attempt found.
func TestDeleteFileRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	call := pawltest.Call{Tool: tools.DeleteFile(), Args: map[string]any{"path": "f"}, Workspace: dir}
	for name, again := range map[string]pawltest.Call{"attempt": {Attempt: 2}, "run": {Epoch: 2}} {
		call.Attempt, call.Epoch = 0, 0
		write(t, path, "text\n")
		if got := call.Run(t); !got.Result.OK {
			t.Fatal(got.Result)
		}
		call.Attempt, call.Epoch = again.Attempt, again.Epoch
		if got := call.Run(t); !got.Result.OK || string(got.Value) != `{"deleted":true}` {
			t.Errorf("another %s: %+v", name, got.Result)
		}
		write(t, path, "newer\n")
		if got := call.Run(t); got.Result.OK || !strings.Contains(got.Result.SafeMessage, "what is at the path now may be newer") {
			t.Errorf("another %s, of a newer file: %+v", name, got.Result)
		}
		holds(t, "newer", path, "newer\n")
	}
}

// TestDeleteFileOfNothing: people who approve a deletion where nothing is approve no other one.
func TestDeleteFileOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call := pawltest.Call{Tool: tools.DeleteFile(), Args: map[string]any{"path": "f"}, Workspace: dir}
	shown := call.Preview(t)
	if shown.Text != "there is nothing at the path\n" || shown.Digest == "" {
		t.Errorf("%+v", shown)
	}
	call.PreviewDigest = shown.Digest
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeExecution || !strings.Contains(got.Result.SafeMessage, "there is nothing at the path") {
		t.Errorf("nothing: %+v", got.Result)
	}
	write(t, filepath.Join(dir, "f"), "precious\n")
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeApprovalStale {
		t.Errorf("a file by now: %+v", got.Result)
	}
	holds(t, "a file by now", filepath.Join(dir, "f"), "precious\n")
}

// Of a large or binary file approvers see the digest, and the approval is bound to it.
func TestDeleteFilePreviewOfBinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"binary": "a\x00b", "large": strings.Repeat("x", 1<<20+1)} {
		write(t, filepath.Join(dir, name), text)
		call := pawltest.Call{Tool: tools.DeleteFile(), Args: map[string]any{"path": name}, Workspace: dir}
		shown := call.Preview(t)
		if !strings.Contains(shown.Text, " bytes, SHA-256 ") || len(shown.Text) > 200 {
			t.Errorf("%s: %+v", name, shown)
		}
		write(t, filepath.Join(dir, name), text+"y")
		if call.Preview(t).Digest == shown.Digest {
			t.Errorf("%s: another file has the same preview", name)
		}
	}
}
