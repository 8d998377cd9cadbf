//go:build amd64 || arm64

package tools_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/sandbox"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// shell returns a function that runs core__shell in a sandbox on one workspace.
func shell(t *testing.T) func(args any) (pawltest.Answer, map[string]any) {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	o := sandbox.Options{Workspace: dir}
	box, err := sandbox.Open(t.Context(), o)
	if err != nil && os.Getenv("CI") == "" {
		o.Without = []string{sandbox.Cgroup}
		if box, err = sandbox.Open(t.Context(), o); err != nil && os.Geteuid() != 0 {
			t.Skip("this machine has no sandbox: ", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(args any) (pawltest.Answer, map[string]any) {
		t.Helper()
		got := pawltest.Call{Tool: tools.Shell(), Args: args, Workspace: dir, Capabilities: []toolspec.Provided{capability.CommandsKey.Provide(box)}}.Run(t)
		value := map[string]any{}
		if got.Result.OK {
			if err := json.Unmarshal(got.Value, &value); err != nil {
				t.Fatal(err)
			}
		}
		return got, value
	}
}

// TestShell (BT-11, UI-03): the value says how the script ended, with the end of a large output; the stream has every byte.
func TestShell(t *testing.T) {
	run := shell(t)
	got, v := run(map[string]any{"command": "echo out; echo err >&2; mkdir sub; exit 3"})
	if v["exitCode"] != 3.0 || v["tail"] != "out\nerr\n" || v["truncated"] != false || v["outputBytes"] != 8.0 || string(got.Output) != "out\nerr\n" || got.Result.OutputRef == "" {
		t.Errorf("%v, the stream is %q", v, got.Output)
	}
	if on, _ := v["protections"].([]any); !slices.Contains(on, any("network")) || v["durationMs"] == nil {
		t.Errorf("%v", v)
	}

	got, v = run(map[string]any{"command": "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; printf '\\377\\033[31mred'", "cwd": "sub"})
	tail, _ := v["tail"].(string)
	if len(tail) > 5<<10+2 || len(tail) < 5<<10-12 || !strings.HasPrefix(tail, "line ") || !strings.HasSuffix(tail, "line 1999\n\ufffd\x1b[31mred") || v["truncated"] != true {
		t.Errorf("of a large output, the tail of %d bytes is %.20q … %q", len(tail), tail, tail[max(0, len(tail)-30):])
	}
	if !strings.HasPrefix(string(got.Output), "line 0\n") || float64(len(got.Output)) != v["outputBytes"] {
		t.Errorf("the stream has %d bytes, and begins %.20q", len(got.Output), got.Output)
	}
	if len(got.Progress) == 0 || strings.ContainsRune(got.Progress[len(got.Progress)-1].Text, 0x1b) {
		t.Errorf("progress %v", got.Progress)
	}
	// Who reads the value as a model gets no sequence that controls a terminal.
	if content := string(got.ModelContent); strings.Contains(content, `\u001b[31m`) || strings.ContainsRune(content, 0x1b) {
		t.Errorf("a model reads %s", content[max(0, len(content)-300):])
	}

	_, v = run(map[string]any{"command": "echo begun; sleep 100", "timeoutMs": 700})
	if v["stoppedBy"] != "time" || v["exitCode"] != -1.0 || v["signal"] != "SIGKILL" || v["tail"] != "begun\n" {
		t.Errorf("of a script that takes too long: %v", v)
	}
	if _, v = run(map[string]any{"command": "true"}); v["tail"] != "" || v["exitCode"] != 0.0 {
		t.Errorf("without output: %v", v)
	}
	for cwd, want := range map[string]string{"../..": capability.ErrOutside.Error(), "/etc": capability.ErrOutside.Error(), "none": capability.ErrNotExist.Error()} {
		if got, _ = run(map[string]any{"command": "true", "cwd": cwd}); got.Result.OK || !strings.HasSuffix(got.Result.SafeMessage, want) {
			t.Errorf("in %s: %+v", cwd, got.Result)
		}
	}
}

// TestShellExamples: the schema accepts the examples, and policy asks for each.
func TestShellExamples(t *testing.T) {
	for _, e := range tools.Shell().Definition().Examples {
		var args map[string]any
		if err := json.Unmarshal([]byte(e.Args), &args); err != nil || args["command"] == "" {
			t.Errorf("%s: %v", e.Title, err)
		}
	}
}
