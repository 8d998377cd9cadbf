package files_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output"
)

// What the killed tools write in the place of oldText. The content of newOutput is more than what the
// adapter writes at once.
var (
	oldText   = strings.Repeat("old\n", 1<<10)
	newText   = strings.Repeat("new\n", 1<<10)
	newOutput = strings.Repeat("new\n", 300<<10)
)

// killed are the tools that TestKilledTool kills, with the texts that the file may have afterwards.
var killed = []struct {
	tool  toolspec.Tool
	args  map[string]any
	after string // "" for no file
}{
	{tools.WriteFile(), map[string]any{"path": "file", "content": newText}, newText},
	{tools.WriteFile(), map[string]any{"path": "file", "contentRef": "ref"}, newOutput},
	{tools.EditFile(), map[string]any{"path": "file", "edits": []map[string]any{{"oldText": "old", "newText": "new", "replaceAll": true}}}, newText},
	{tools.DeleteFile(), map[string]any{"path": "file"}, ""},
}

const (
	killedDir   = "PAWL_TEST_KILLED_DIR"
	killedTool  = "PAWL_TEST_KILLED_TOOL"
	killedPoint = "PAWL_TEST_KILLED_POINT"
)

// stops is a context that stops its process when it is asked for the nth time.
type stops struct {
	context.Context
	left *int
}

func (s stops) Err() error {
	if *s.left--; *s.left == 0 {
		fmt.Println("stopped") //nolint:forbidigo // the parent waits for it
		select {}              // killed here
	}
	return s.Context.Err()
}

type oneOutput struct{}

func (oneOutput) Info(context.Context, string, string) (output.Info, error) {
	return output.Info{Bytes: int64(len(newOutput)), Complete: true}, nil
}

func (oneOutput) Chunks(context.Context, string, string, output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		for at := 0; at < len(newOutput); at += 256 << 10 {
			if !yield(output.Chunk{Data: []byte(newOutput[at:min(at+256<<10, len(newOutput))])}, nil) {
				return
			}
		}
	}
}

// TestRunKilledTool is the process that TestKilledTool kills.
func TestRunKilledTool(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		t.Skip("only under TestKilledTool")
	}
	n, _ := strconv.Atoi(os.Getenv(killedTool))
	point, _ := strconv.Atoi(os.Getenv(killedPoint))
	workspace, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	caps, err := toolspec.NewCapabilities(capability.FilesKey.Provide(workspace), capability.OutputsKey.Provide(oneOutput{}))
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(killed[n].args)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := killed[n].tool.Run(stops{t.Context(), &point}, args, toolspec.Call{}.WithCapabilities(caps)); err != nil {
		t.Fatal(err)
	}
	fmt.Println("done") //nolint:forbidigo // the parent waits for it
	select {}           // killed here
}

// A process that is killed at any point of a write, an edit or a deletion leaves the old or the new
// file and never a mix, and the next writer removes what it has left.
func TestKilledTool(t *testing.T) {
	t.Parallel()
	for n, c := range killed {
		t.Run(fmt.Sprint(n, c.tool.Definition().ID), func(t *testing.T) {
			t.Parallel()
			points := 0
			for ended := false; !ended; {
				points++
				dir := t.TempDir()
				path := filepath.Join(dir, "file")
				if err := os.WriteFile(path, []byte(oldText), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunKilledTool$")
				cmd.Env = append(os.Environ(), killedDir+"="+dir, killedTool+"="+strconv.Itoa(n), killedPoint+"="+strconv.Itoa(points))
				var errors bytes.Buffer
				cmd.Stderr = &errors
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				line, err := bufio.NewReader(out).ReadString('\n')
				if err != nil || line != "stopped\n" && line != "done\n" {
					t.Fatalf("point %d: the tool says %q, %v, %s", points, line, err, &errors)
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				ended = line == "done\n"
				got, err := os.ReadFile(path)
				deleted := os.IsNotExist(err)
				switch {
				case err != nil && !deleted:
					t.Fatal(err)
				case !ended && string(got) != oldText:
					t.Errorf("killed at point %d of %s: %d bytes, %.20q", points, c.tool.Definition().ID, len(got), got)
				case ended && (string(got) != c.after || deleted != (c.after == "")):
					t.Errorf("killed after %s: %d bytes, %.20q, %v", c.tool.Definition().ID, len(got), got, err)
				}
				left, err := filepath.Glob(filepath.Join(dir, ".pawl-tmp-*"))
				if err != nil || len(left) > 1 {
					t.Errorf("point %d: left are %v, %v", points, left, err)
				}
				workspace, err := files.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := workspace.Replace(t.Context(), "file", []byte("next"), capability.ReplaceOptions{}); err != nil {
					t.Error(err)
				}
				_ = workspace.Close()
				if left := entries(t, dir); left != "file" {
					t.Errorf("point %d: after the next writer there is %s", points, left)
				}
			}
			if points < 2 {
				t.Errorf("only %d points", points)
			}
			t.Logf("%d points", points)
		})
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
