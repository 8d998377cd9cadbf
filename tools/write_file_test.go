package tools_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output"
)

type written struct {
	BytesWritten int    `json:"bytesWritten"`
	SHA256       string `json:"sha256"`
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old"), strings.Repeat("old", 1000))
	for _, c := range []struct {
		path, content string
		dirs          bool
	}{
		{"new", "content", false}, {"old", "é\n", false}, {"empty", "", false}, {"a/b/c", "deep", true},
		{"large", strings.Repeat("x", 60<<10), false}, {"ctrl", "\x01\x1b[0m\u2028", false},
	} {
		sum := sha256.Sum256([]byte(c.content))
		want := written{len(c.content), hex.EncodeToString(sum[:])}
		args := map[string]any{"path": c.path, "content": c.content}
		if c.dirs {
			args["createDirs"] = true
		}
		// The second attempt finds the first one's file and answers the same.
		for attempt := 1; attempt <= 2; attempt++ {
			if got, err := run[written](t, tools.WriteFile(), dir, args); err != nil || got != want {
				t.Errorf("%s, attempt %d: %+v, %v, want %+v", c.path, attempt, got, err, want)
			}
			if got, err := os.ReadFile(filepath.Join(dir, c.path)); err != nil || string(got) != c.content {
				t.Errorf("%s holds %.40q, %v", c.path, got, err)
			}
		}
	}
	_, err := run[written](t, tools.WriteFile(), dir, map[string]any{"path": "x/y", "content": ""})
	wantSafe(t, "no parent", err, "the parent directory does not exist: create it with createDirs")
	if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was created: %v", err)
	}
}

// What the disk says reaches the caller in the right form: an answer, a wish to
// be asked again, or an error whose text stays inside.
func TestWriteFileFailures(t *testing.T) {
	for _, known := range []error{capability.ErrPermission, capability.ErrNoSpace} {
		_, err := runWith[written](t.Context(), t, tools.WriteFile(), broken(known), map[string]any{"path": "x", "content": "x"})
		wantSafe(t, "write", err, known.Error())
		if !errors.Is(err, known) {
			t.Errorf("%v is lost", known)
		}
	}
	_, err := runWith[written](t.Context(), t, tools.WriteFile(), broken(capability.ErrBusy), map[string]any{"path": "x", "content": "x"})
	var busy *toolspec.BusyError
	if !errors.As(err, &busy) || busy.After != 200*time.Millisecond {
		t.Errorf("busy: %v", err)
	}
	disk := errors.New("the disk is on fire")
	var safe *toolspec.SafeError
	if _, err := runWith[written](t.Context(), t, tools.WriteFile(), broken(disk), map[string]any{"path": "x", "content": "x"}); !errors.Is(err, disk) || errors.As(err, &safe) {
		t.Errorf("an unknown error became %v", err)
	}
}

// outputs are stored outputs in memory, in chunks of 7 bytes.
type outputs map[string]struct {
	runID, text string
	writing     bool
}

func (o outputs) Info(_ context.Context, _, ref string) (output.Info, error) {
	found, ok := o[ref]
	if !ok {
		return output.Info{}, output.ErrNotFound
	}
	return output.Info{Ref: ref, RunID: found.runID, Bytes: int64(len(found.text)), Complete: !found.writing}, nil
}

func (o outputs) Chunks(_ context.Context, _, ref string, _ output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		for at, part := range slices.Collect(slices.Chunk([]byte(o[ref].text), 7)) {
			if !yield(output.Chunk{FirstByte: int64(7 * at), Data: part}, nil) {
				return
			}
		}
		if ref == "expires" {
			yield(output.Chunk{}, output.ErrExpired)
		}
	}
}

// Content by reference is the stored output of the same run, and of no other.
func TestWriteFileContentRef(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.Repeat("0123456789\n", 30<<10) // far more than arguments can have
	stored := outputs{
		"large": {"test", text, false}, "other": {"run-2", "x", false}, "writing": {"test", "x", true}, "expires": {"test", "x", false},
	}
	call := pawltest.Call{Tool: tools.WriteFile(), Workspace: dir, Capabilities: []toolspec.Provided{capability.OutputsKey.Provide(stored)}}
	sum := sha256.Sum256([]byte(text))
	call.Args = map[string]any{"path": "f", "contentRef": "large"}
	for call.Attempt = 1; call.Attempt <= 2; call.Attempt++ {
		got := call.Run(t)
		if want := fmt.Sprintf(`{"bytesWritten":%d,"sha256":"%x"}`, len(text), sum); string(got.Value) != want {
			t.Errorf("attempt %d: %s, %+v", call.Attempt, got.Value, got.Result)
		}
		holds(t, "by reference", filepath.Join(dir, "f"), text)
	}
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"contentRef": "other"}, "there is no such output in this run: use the outputRef or output_ref of a result of this run as it is written there"},
		{map[string]any{"contentRef": "none"}, "there is no such output in this run: use the outputRef or output_ref of a result of this run as it is written there"},
		{map[string]any{"contentRef": "writing"}, "the tool still writes the output: try again when it has ended"},
		{map[string]any{"contentRef": "expires"}, "the output has expired and was deleted: call the tool that made it again"},
		{map[string]any{"contentRef": "large", "content": "x"}, "either content or contentRef is needed, and not both"},
		{map[string]any{}, "either content or contentRef is needed, and not both"},
	} {
		c.args["path"] = "f"
		call.Args = c.args
		if got := call.Run(t); got.Result.SafeMessage != toolspec.ErrorPrefix+c.want {
			t.Errorf("%v: %+v", c.args, got.Result)
		}
		holds(t, c.want, filepath.Join(dir, "f"), text)
	}
}

func TestWriteFilePreview(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	call := pawltest.Call{
		Tool: tools.WriteFile(), Workspace: dir, Args: map[string]any{"path": "f", "content": "a\nB\n"},
		Capabilities: []toolspec.Provided{capability.OutputsKey.Provide(outputs{"bin": {"test", "a\x00b", false}})},
	}
	fresh := call.Preview(t)
	if want := "creates \"f\"\n--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+B\n"; fresh.Text != want {
		t.Errorf("%+v", fresh)
	}
	write(t, path, "a\nb\n")
	shown := call.Preview(t)
	if want := "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"; shown.Text != want {
		t.Errorf("%+v", shown)
	}
	// The approver has seen a new file, and there is one now.
	call.PreviewDigest = fresh.Digest
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeApprovalStale {
		t.Errorf("stale: %+v", got.Result)
	}
	holds(t, "stale", path, "a\nb\n")
	call.PreviewDigest = shown.Digest
	for call.Attempt = 1; call.Attempt <= 2; call.Attempt++ { // the second finds the file of the first
		if got := call.Run(t); !got.Result.OK {
			t.Errorf("attempt %d: %+v", call.Attempt, got.Result)
		}
		holds(t, "approved", path, "a\nB\n")
	}
	call.Args, call.Attempt = map[string]any{"path": "f", "contentRef": "bin"}, 1
	if shown := call.Preview(t); strings.Contains(shown.Text, "@@") || !strings.Contains(shown.Text, "new content of \"f\": 3 bytes, SHA-256 ") {
		t.Errorf("%+v", shown)
	}
}
