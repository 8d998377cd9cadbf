package tools_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Approvers see where a path leads, and an approval is of the file that they have seen.
func TestPreviewsFollowLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real", "f"), "a\n")
	write(t, filepath.Join(dir, "other", "f"), "a\n")
	swap := func(target string) {
		t.Helper()
		err := os.Remove(filepath.Join(dir, "notes"))
		if err = errors.Join(err, os.Symlink(target, filepath.Join(dir, "notes"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("real", filepath.Join(dir, "notes")), os.Symlink("f", filepath.Join(dir, "real", "link"))); err != nil {
		t.Fatal(err)
	}
	const through = "\"notes/f\" leads through a symbolic link to \"real/f\"\n"
	for name, c := range map[string]struct {
		tool toolspec.Tool
		args map[string]any
		want string
	}{
		"write": {tools.WriteFile(), map[string]any{"path": "notes/f", "content": "b\n"}, through + "--- real/f\n+++ real/f\n@@ -1 +1 @@\n-a\n+b\n"},
		"write, new": {
			tools.WriteFile(), map[string]any{"path": "notes/n", "content": "b\n"},
			"\"notes/n\" leads through a symbolic link to \"real/n\"\ncreates \"real/n\"\n--- /dev/null\n+++ real/n\n@@ -0,0 +1 @@\n+b\n",
		},
		"edit": {
			tools.EditFile(), map[string]any{"path": "notes/f", "edits": edits{change("a", "b")}},
			through + "--- real/f\n+++ real/f\n@@ -1 +1 @@\n-a\n+b\n",
		},
		"edit, refused": {
			tools.EditFile(), map[string]any{"path": "notes/f", "edits": edits{change("x", "b")}},
			through + "edit 1: oldText was not found; the file is unchanged. Read the file again and copy the text exactly\n",
		},
		"delete": {tools.DeleteFile(), map[string]any{"path": "notes/f"}, through + "deletes \"real/f\"\n--- real/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		"delete a link": {
			tools.DeleteFile(), map[string]any{"path": "notes/link"},
			"\"notes/link\" leads through a symbolic link to \"real/link\"\ndeletes the symbolic link \"real/link\", and not what it points to\n",
		},
	} {
		call := pawltest.Call{Tool: c.tool, Args: c.args, Workspace: dir}
		shown := call.Preview(t)
		if shown.Text != c.want || shown.Digest == "" {
			t.Errorf("%s: %+v, want %q", name, shown, c.want)
		}
		swap("other") // a file with the same content
		call.PreviewDigest = shown.Digest
		if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeApprovalStale {
			t.Errorf("%s, of another file: %+v", name, got.Result)
		}
		swap("real")
	}
	holds(t, "other", filepath.Join(dir, "other", "f"), "a\n")
}

// An attempt changes the file that people have seen, also if the link is swapped between its preview and the tool.
func TestApprovedFileIsChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool toolspec.Tool
		args map[string]any
		want string
	}{
		"write":  {tools.WriteFile(), map[string]any{"path": "notes/f", "content": "b\n"}, "b\n"},
		"edit":   {tools.EditFile(), map[string]any{"path": "notes/f", "edits": edits{change("a", "b")}}, "b\n"},
		"delete": {tools.DeleteFile(), map[string]any{"path": "notes/f"}, ""},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "real", "f"), "a\n")
		write(t, filepath.Join(dir, "other", "f"), "a\n")
		notes := filepath.Join(dir, "notes")
		if err := os.Symlink("real", notes); err != nil {
			t.Fatal(err)
		}
		call := pawltest.Call{Tool: c.tool, Args: c.args, Workspace: dir}
		call.PreviewDigest = call.Preview(t).Digest
		call.Hooks = []hook.Hook{hook.New("swap", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error {
			return errors.Join(os.Remove(notes), os.Symlink("other", notes))
		}))}
		if got := call.Run(t); !got.Result.OK {
			t.Errorf("%s: %+v", name, got.Result)
		}
		got, err := os.ReadFile(filepath.Join(dir, "real", "f"))
		if string(got) != c.want || (c.want == "") != os.IsNotExist(err) {
			t.Errorf("%s: the approved file holds %q, %v", name, got, err)
		}
		holds(t, name, filepath.Join(dir, "other", "f"), "a\n")
	}
}
