package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

type edits = []map[string]any

func change(oldText, newText string) map[string]any {
	return map[string]any{"oldText": oldText, "newText": newText}
}

func everywhere(oldText, newText string) map[string]any {
	e := change(oldText, newText)
	e["replaceAll"] = true
	return e
}

// holds checks what a file has in the end.
func holds(t *testing.T, what, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: the file holds %.80q, %v, want %.80q", what, got, err, want)
	}
}

func TestEditFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old   string
		edits edits
		want  string
	}{
		"one":                   {"a\nb\nc\n", edits{change("b", "B")}, "a\nB\nc\n"},
		"several, in any order": {"one two three", edits{change("three", "3"), change("one", "1")}, "1 two 3"},
		"side by side":          {"abcd", edits{change("ab", "x"), change("cd", "y")}, "xy"},
		"each of the old text":  {"a b", edits{change("a", "b"), change("b", "a")}, "b a"},
		"all":                   {"aaa b aa", edits{everywhere("aa", "c")}, "ca b c"},
		"delete":                {"keep this, drop that", edits{change(", drop that", "")}, "keep this"},
		"line ends of DOS":      {"a\r\nb\r\nc\r\n", edits{change("a\nb\n", "a\nx\nb\n")}, "a\r\nx\r\nb\r\nc\r\n"},
		"DOS, as it is":         {"a\r\nb\r\n", edits{change("a\r\nb", "b\r\na")}, "b\r\na\r\n"},
		"mixed line ends":       {"a\r\nb\nc\r\n", edits{change("b\n", "x\n")}, "a\r\nx\nc\r\n"},
		"byte order mark":       {"\ufeffa = 1\n", edits{change("a = 1", "a = 2")}, "\ufeffa = 2\n"},
		"not ASCII":             {"Größe: 漢字", edits{change("漢", "字")}, "Größe: 字字"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			write(t, path, c.old)
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			got, err := run[written](t, tools.EditFile(), dir, map[string]any{"path": "f", "edits": c.edits})
			if err != nil || got.BytesWritten != len(c.want) {
				t.Errorf("%+v, %v", got, err)
			}
			holds(t, "edited", path, c.want)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v, %v", info, err)
			}
		})
	}
}

// A refused edit says where the text is, and changes nothing: not even by the edits that fit.
func TestEditFileRefuses(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("x\n", 500)
	for name, c := range map[string]struct {
		old   string
		edits edits
		want  string
	}{
		"missing":       {"a\n", edits{change("a", "b"), change("A", "b")}, "edit 2: oldText was not found; the file is unchanged. Read the file again and copy the text exactly"},
		"ambiguous":     {"a\nb\na\n", edits{change("b", "c"), change("a", "c")}, "edit 2: oldText was found 2 times, on lines 1, 3; the file is unchanged. Add lines around it to oldText, or set replaceAll"},
		"overlapping":   {"aaa", edits{change("aa", "b")}, "edit 1: oldText was found 2 times, on lines 1, 1; the file is unchanged. Add lines around it to oldText, or set replaceAll"},
		"many":          {many, edits{change("x", "y")}, "edit 1: oldText was found at least 100 times, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 90 more; the file is unchanged. Add lines around it to oldText, or set replaceAll"},
		"the same":      {"a\n", edits{change("a", "a")}, "edit 1 changes nothing: oldText and newText are the same"},
		"edits overlap": {"a\nbcd\n", edits{change("cd", "x"), change("bc", "y")}, "edits 2 and 1 overlap on line 2; the file is unchanged. Make one edit of them"},
		"binary":        {"a\x00b", edits{change("a", "b")}, "not a text file"},
		"not UTF-8":     {"a\xff", edits{change("a", "b")}, "not a text file"},
		"grows": {strings.Repeat("a", 100<<10), edits{everywhere("a", strings.Repeat("b", 50))},
			"the edited file would have more than 4 MiB; the file is unchanged"},
		"large": {strings.Repeat("a", 4<<20+1), edits{change("b", "c")}, "the file has more than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "f"), c.old)
			_, err := run[written](t, tools.EditFile(), dir, map[string]any{"path": "f", "edits": c.edits})
			wantSafe(t, name, err, c.want)
			holds(t, name, filepath.Join(dir, "f"), c.old)
		})
	}
	_, err := run[written](t, tools.EditFile(), t.TempDir(), map[string]any{"path": "f", "edits": edits{change("a", "b")}})
	wantSafe(t, "no file", err, "the file does not exist")
}

// An attempt after a lost one, which may have edited the file, never edits it twice, and never says that
// it has edited what was there before: it edits what is certainly not edited, or says that it cannot tell.
func TestEditFileRepeated(t *testing.T) {
	t.Parallel()
	const perhaps = "an earlier attempt of this call may have begun, and the file may have the edits already: read it, and edit again what is missing"
	for name, c := range map[string]struct {
		old   string
		edits edits
		// lost is what the next attempt says if the lost one did nothing; "" if it edits the file.
		lost string
	}{
		"replaced":          {"a b", edits{change("a", "x")}, ""},
		"inserted":          {"import x\n", edits{change("import x\n", "import x\nimport y\n")}, ""},
		"inserted in front": {"f()", edits{change("f()", "g(); f()")}, ""},
		"two":               {"a b", edits{change("a", "aa"), change("b", "bb")}, ""},
		"all":               {"a b a", edits{everywhere("a", "(a)")}, ""},
		// The new text was in the file before.
		"another line":      {"retries: 3\nagain:\nretries: 5\n", edits{change("retries: 3", "retries: 5")}, perhaps},
		"once more":         {"total\n1\n", edits{change("total\n", "total\n1\n")}, perhaps},
		"moved to the left": {"\t\t\tfoo", edits{change("\t\tfoo", "\tfoo")}, perhaps},
		"deleted":           {"ab", edits{change("b", "")}, perhaps},
		"deleted, joined":   {"aabb", edits{change("ab", "")}, perhaps},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			call := pawltest.Call{Tool: tools.EditFile(), Args: map[string]any{"path": "f", "edits": c.edits}, Workspace: dir, ToolCallID: "same"}
			write(t, path, c.old)
			first := call.Run(t)
			edited, err := os.ReadFile(path)
			if err != nil || !first.Result.OK {
				t.Fatal(first.Result, err)
			}
			check := func(what, before, refused string) {
				t.Helper()
				write(t, path, before)
				again := call.Run(t)
				if refused != "" {
					if again.Result.OK || again.Result.SafeMessage != toolspec.ErrorPrefix+refused {
						t.Errorf("%s: %+v", what, again.Result)
					}
					holds(t, what, path, before)
					return
				}
				if string(again.Value) != string(first.Value) {
					t.Errorf("%s: %s, want %s", what, again.Value, first.Value)
				}
				holds(t, what, path, string(edited))
			}
			call.Attempt = 2
			check("after an attempt that edited", string(edited), perhaps)
			check("after an attempt that did nothing", c.old, c.lost)
			call.Attempt, call.Epoch = 1, 2 // the run of the call was replaced
			check("after an attempt of another run", c.old, c.lost)
			// With an approved preview the state of the file is known.
			call.Epoch = 1
			write(t, path, c.old)
			call.PreviewDigest = call.Preview(t).Digest
			call.Attempt = 2
			check("approved, after an attempt that did nothing", c.old, "")
			check("approved, after an attempt that edited", string(edited), perhaps)
		})
	}
}

// An attempt that never began, and another person's change of the file: nobody has made the approved edit.
func TestEditFileOfAnotherFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	call := pawltest.Call{Tool: tools.EditFile(), Args: map[string]any{"path": "f", "edits": edits{change("3", "5")}}, Workspace: dir}
	write(t, path, "retries: 3\n")
	call.PreviewDigest = call.Preview(t).Digest
	const theirs = "retries: 4\nseconds: 5\n"
	write(t, path, theirs)
	call.Epoch = 2
	if got := call.Run(t); got.Result.OK {
		t.Errorf("an edit that nobody made: %s", got.Value)
	}
	holds(t, "theirs", path, theirs)
}

// What was shown is what is done, or nothing is.
func TestEditFilePreview(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	call := pawltest.Call{Tool: tools.EditFile(), Args: map[string]any{"path": "f", "edits": edits{change("b", "B")}}, Workspace: dir}
	write(t, path, "a\nb\nc\n")
	shown := call.Preview(t)
	if want := "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"; shown.Text != want || shown.Truncated || shown.Missing != "" || len(shown.Digest) != 64 {
		t.Errorf("%+v", shown)
	}
	holds(t, "shown", path, "a\nb\nc\n")
	call.PreviewDigest = shown.Digest
	write(t, path, "a\nb\nC\n")
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeApprovalStale {
		t.Errorf("changed: %+v", got.Result)
	}
	holds(t, "changed", path, "a\nb\nC\n")
	write(t, path, "a\nb\nc\n")
	if got := call.Run(t); !got.Result.OK {
		t.Errorf("approved: %+v", got.Result)
	}
	holds(t, "approved", path, "a\nB\nc\n")
	// The approver learns why the call will fail.
	call.Args = map[string]any{"path": "f", "edits": edits{change("nowhere", "B")}}
	shown = call.Preview(t)
	if shown.Digest == "" || !strings.HasPrefix(shown.Text, "edit 1: oldText was not found") {
		t.Errorf("%+v", shown)
	}
	// The approval is of this failure, and not of an edit that works by now.
	call.PreviewDigest = shown.Digest
	write(t, path, "nowhere\n")
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeApprovalStale {
		t.Errorf("an edit that failed when people approved it: %+v", got.Result)
	}
	holds(t, "failed", path, "nowhere\n")
}
