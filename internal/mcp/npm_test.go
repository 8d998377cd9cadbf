package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// modulesVariable names a directory with the npm packages of internal/mcptest. Without it, the tests with
// servers from npm are skipped: the step mcp of .ci/run sets it.
const modulesVariable = "PAWL_TEST_MCP_MODULES"

// npmCall is a call of a tool, with what its value has, or its error.
type npmCall struct{ tool, args, want, fails string }

// npmCalls calls every tool of each server. DIR is a directory for the server.
var npmCalls = map[string][]npmCall{
	"everything": {
		{tool: "echo", args: `{"message":"hello"}`, want: `"text":"Echo: hello"`},
		{tool: "get-annotated-message", args: `{"messageType":"error","includeImage":true}`, want: `"mediaType":"image/png"`},
		{tool: "get-env", args: `{}`, want: "PATH"},
		{tool: "get-resource-links", args: `{"count":2}`, want: `"type":"resource_link"`},
		{tool: "get-resource-reference", args: `{"resourceType":"Blob","resourceId":1}`, want: `"data":`},
		{tool: "get-structured-content", args: `{"location":"Chicago"}`, want: `"temperature"`},
		{tool: "get-sum", args: `{"a":2,"b":3}`, want: "5"},
		{tool: "get-tiny-image", args: `{}`, want: `"type":"image","mediaType":"image/png"`},
		{tool: "gzip-file-as-resource", args: `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, want: `"type":"document"`},
		{tool: "toggle-simulated-logging", args: `{}`, want: `"type":"text"`},
		{tool: "toggle-subscriber-updates", args: `{}`, want: `"type":"text"`},
		{tool: "trigger-long-running-operation", args: `{"duration":1,"steps":4}`, want: "4"},
		{tool: "simulate-research-query", args: `{"topic":"x"}`, fails: "requires task augmentation"},
	},
	"filesystem": {
		{tool: "list_allowed_directories", args: `{}`, want: "DIR"},
		{tool: "create_directory", args: `{"path":"DIR/sub"}`, want: "Successfully"},
		{tool: "write_file", args: `{"path":"DIR/sub/a.txt","content":"one\ntwo\n"}`, want: "Successfully"},
		{tool: "edit_file", args: `{"path":"DIR/sub/a.txt","edits":[{"oldText":"two","newText":"three"}]}`, want: "+three"},
		{tool: "read_file", args: `{"path":"DIR/sub/a.txt"}`, want: `one\nthree`},
		{tool: "read_text_file", args: `{"path":"DIR/sub/a.txt","head":1}`, want: "one"},
		{tool: "read_text_file", args: `{"path":"/etc/hostname"}`, fails: "outside allowed directories"},
		{tool: "read_media_file", args: `{"path":"DIR/image.png"}`, want: "image/png"},
		{tool: "read_multiple_files", args: `{"paths":["DIR/sub/a.txt","DIR/none"]}`, want: "three"},
		{tool: "list_directory", args: `{"path":"DIR"}`, want: "[DIR] sub"},
		{tool: "list_directory_with_sizes", args: `{"path":"DIR/sub"}`, want: "a.txt"},
		{tool: "directory_tree", args: `{"path":"DIR"}`, want: "a.txt"},
		{tool: "search_files", args: `{"path":"DIR","pattern":"**/*.txt"}`, want: "a.txt"},
		{tool: "get_file_info", args: `{"path":"DIR/sub/a.txt"}`, want: "size"},
		{tool: "move_file", args: `{"source":"DIR/sub/a.txt","destination":"DIR/sub/b.txt"}`, want: "Successfully"},
	},
	"memory": {
		{tool: "create_entities", args: `{"entities":[{"name":"fox","entityType":"animal","observations":["quick"]},{"name":"dog","entityType":"animal","observations":[]}]}`, want: "fox"},
		{tool: "create_relations", args: `{"relations":[{"from":"fox","to":"dog","relationType":"jumps over"}]}`, want: "jumps over"},
		{tool: "add_observations", args: `{"observations":[{"entityName":"fox","contents":["brown"]}]}`, want: "brown"},
		{tool: "read_graph", args: `{}`, want: "jumps over"},
		{tool: "search_nodes", args: `{"query":"brown"}`, want: "fox"},
		{tool: "open_nodes", args: `{"names":["dog"]}`, want: "dog"},
		{tool: "delete_observations", args: `{"deletions":[{"entityName":"fox","observations":["brown"]}]}`, want: "deleted"},
		{tool: "delete_relations", args: `{"relations":[{"from":"fox","to":"dog","relationType":"jumps over"}]}`, want: "deleted"},
		{tool: "delete_entities", args: `{"entityNames":["fox","dog"]}`, want: "deleted"},
	},
}

// TestServersFromNPM lists every tool of servers that others wrote, and calls every tool.
func TestServersFromNPM(t *testing.T) {
	t.Parallel()
	modules := npmModules(t)
	for _, c := range []struct {
		server    string
		transport Transport
	}{{"everything", Stdio}, {"everything", Streamable}, {"everything", SSE}, {"filesystem", Stdio}, {"memory", Stdio}} {
		t.Run(c.server+" over "+string(c.transport), func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "image.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := start(t, npmServer(t, modules, dir, c.server, c.transport))
			missing := map[string]bool{}
			for _, tool := range r.until("the tools", func(o source.Offer) bool { return len(o.Tools) > 0 && o.Fault == "" }).Tools {
				missing[tool.Definition().Discovered.Name] = true
			}
			for _, one := range npmCalls[c.server] {
				delete(missing, one.tool)
				tool := r.trusted(one.tool)
				out, progress, err := call(t, tool, strings.ReplaceAll(one.args, "DIR", dir), 30*time.Second)
				switch {
				case one.fails != "":
					if safe := (*toolspec.SafeError)(nil); !errors.As(err, &safe) || !strings.Contains(err.Error(), one.fails) {
						t.Errorf("%s returns %.200s, %v", one.tool, out, err)
					}
				case err != nil:
					t.Errorf("%s: %v", one.tool, err)
				case !strings.Contains(out, strings.ReplaceAll(one.want, "DIR", dir)) && !strings.Contains(out, one.want):
					t.Errorf("%s returns %.500s, want %s", one.tool, out, one.want)
				case one.tool == "trigger-long-running-operation" && (len(progress) == 0 || progress[0].Total != 4):
					t.Errorf("%s reports %v", one.tool, progress)
				}
				if problems := outputProblems(t, tool, out); err == nil && problems != "" {
					t.Errorf("the value of %s: %s", one.tool, problems)
				}
			}
			if len(missing) > 0 {
				t.Errorf("no call of %v", missing)
			}
		})
	}
}

// outputProblems says why a value does not fit the schema of its tool.
func outputProblems(t *testing.T, tool toolspec.Tool, value string) string {
	t.Helper()
	b, err := bound(tool)
	if err != nil {
		t.Fatal(err)
	}
	if problems := b.ValidateOutput(json.RawMessage(value)); len(problems) > 0 {
		return fmt.Sprint(problems)
	}
	return ""
}

// TestServerFromNPMDies: a server that is killed in a call is started again.
func TestServerFromNPMDies(t *testing.T) {
	t.Parallel()
	modules := npmModules(t)
	r := start(t, npmServer(t, modules, t.TempDir(), "everything", Stdio))
	tool := r.trusted("trigger-long-running-operation")
	echo := r.trusted("echo")
	ended := make(chan error, 1)
	go func() {
		_, _, err := call(t, tool, `{"duration":60,"steps":600}`, time.Minute)
		ended <- err
	}()
	se := r.source.current.Load()
	devstacktest.Eventually(t.Context(), time.Minute, func() bool { return se.in.calls.Load() > 0 })
	pid := se.process.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; unanswered(err) != "" {
		t.Errorf("the call returns %v", err)
	}
	if out, err := eventually(t, echo, `{"message":"again"}`); err != nil || !strings.Contains(out, "again") {
		t.Errorf("after the restart, a call returns %s, %v", out, err)
	}
}

func npmModules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(modulesVariable)
	if dir == "" {
		t.Skip("set " + modulesVariable + " to a directory with the npm packages of internal/mcptest, or run .ci/run mcp")
	}
	return dir
}

// npmServer returns the configuration of a server, and starts it if it is a server over HTTP.
func npmServer(t *testing.T, modules, dir, name string, transport Transport) Server {
	t.Helper()
	program := filepath.Join(modules, "node_modules", ".bin", "mcp-server-"+name)
	if transport == Stdio {
		args := map[string][]string{"everything": {"stdio"}, "filesystem": {dir}}[name]
		return Server{Transport: Stdio, Command: program, Args: args, Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	mode, path := "streamableHttp", "/mcp"
	if transport == SSE {
		mode, path = "sse", "/sse"
	}
	server := exec.Command(program, mode)
	server.Env = append(os.Environ(), "PORT="+port)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return Server{Transport: transport, URL: "http://127.0.0.1:" + port + path}
}
