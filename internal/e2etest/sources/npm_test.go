package sources

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// npmCalls has calls of every tool of the servers from npm, in their order. DIR is the directory of the
// server of files.
var npmCalls = []struct {
	server, tool, args string
	want               string // a part of the value
}{
	{"everything", "echo", `{"message":"hello"}`, `Echo: hello`},
	{"everything", "get-annotated-message", `{"messageType":"success","includeImage":true}`, `"mediaType":"image/png"`},
	{"everything", "get-env", `{}`, `PATH`},
	{"everything", "get-resource-links", `{"count":2}`, `"type":"resource_link"`},
	{"everything", "get-resource-reference", `{"resourceType":"Text","resourceId":1}`, `demo://resource/dynamic/text/1`},
	{"everything", "get-structured-content", `{"location":"Chicago"}`, `"temperature":`},
	{"everything", "get-sum", `{"a":2,"b":3}`, `The sum of 2 and 3 is 5`},
	{"everything", "get-tiny-image", `{}`, `"type":"image"`},
	{"everything", "gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`, `application/gzip`},
	{"everything", "toggle-simulated-logging", `{}`, `simulated`},
	{"everything", "toggle-subscriber-updates", `{}`, `simulated`},
	{"everything", "trigger-long-running-operation", `{"duration":1,"steps":2}`, `Long running operation completed`},
	{"web", "echo", `{"message":"hello"}`, `Echo: hello`},
	{"web", "get-tiny-image", `{}`, `"type":"image"`},
	{"web", "trigger-long-running-operation", `{"duration":1,"steps":2}`, `Long running operation completed`},
	{"files", "write_file", `{"path":"DIR/a.txt","content":"hello\n"}`, `Successfully wrote`},
	{"files", "edit_file", `{"path":"DIR/a.txt","edits":[{"oldText":"hello","newText":"bye"}]}`, `bye`},
	{"files", "create_directory", `{"path":"DIR/sub"}`, `Successfully created`},
	{"files", "move_file", `{"source":"DIR/a.txt","destination":"DIR/sub/b.txt"}`, `Successfully moved`},
	{"files", "read_file", `{"path":"DIR/sub/b.txt"}`, `bye`},
	{"files", "read_text_file", `{"path":"DIR/sub/b.txt","head":1}`, `bye`},
	{"files", "read_media_file", `{"path":"DIR/dot.png"}`, `image/png`},
	{"files", "read_multiple_files", `{"paths":["DIR/sub/b.txt"]}`, `bye`},
	{"files", "list_directory", `{"path":"DIR"}`, `[DIR] sub`},
	{"files", "list_directory_with_sizes", `{"path":"DIR"}`, `sub`},
	{"files", "directory_tree", `{"path":"DIR"}`, `b.txt`},
	{"files", "search_files", `{"path":"DIR","pattern":"**/*.txt"}`, `b.txt`},
	{"files", "get_file_info", `{"path":"DIR/sub/b.txt"}`, `size: 4`},
	{"files", "list_allowed_directories", `{}`, `Allowed directories`},
	{"memory", "create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes Go"]},{"name":"Bob","entityType":"person","observations":[]}]}`, `likes Go`},
	{"memory", "create_relations", `{"relations":[{"from":"Ann","to":"Bob","relationType":"knows"}]}`, `knows`},
	{"memory", "add_observations", `{"observations":[{"entityName":"Bob","contents":["likes C"]}]}`, `likes C`},
	{"memory", "read_graph", `{}`, `knows`},
	{"memory", "search_nodes", `{"query":"Go"}`, `Ann`},
	{"memory", "open_nodes", `{"names":["Bob"]}`, `likes C`},
	{"memory", "delete_relations", `{"relations":[{"from":"Ann","to":"Bob","relationType":"knows"}]}`, `success`},
	{"memory", "delete_observations", `{"deletions":[{"entityName":"Bob","observations":["likes C"]}]}`, `success`},
	{"memory", "delete_entities", `{"entityNames":["Ann"]}`, `success`},
}

// taskOnly is a tool that can be called only as a task of the protocol. Pawl does not do that, and so the server refuses the call.
const taskOnly = "mcp__everything__simulate-research-query"

// TestNPMServers: every tool of the servers that the authors of the protocol have written is listed, and is called through a workflow, over stdio and streamable
// HTTP. A person approves the calls with effects. Images and progress arrive, and a server that is killed during a call is started again.
//
// PAWL_TEST_MCP_MODULES is the directory in which npm has installed internal/mcptest: see step_mcp of .ci/run.
func TestNPMServers(t *testing.T) {
	root := os.Getenv("PAWL_TEST_MCP_MODULES")
	if root == "" {
		t.Skip("PAWL_TEST_MCP_MODULES is not set: `.ci/run mcp` installs the servers and sets it")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dot.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := func(name string) string {
		return filepath.Join(root, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	}
	type server struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
	}
	node := func(env map[string]string, args ...string) server {
		return server{Command: "node", Args: args, Env: env}
	}
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]server{
		"everything": node(nil, script("everything"), "stdio"),
		"web":        {URL: serveHTTP(t, script("everything"))},
		"files":      node(nil, script("filesystem"), dir),
		"memory":     node(map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}, script("memory")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := e2etest.NewWorld(t, npmPolicy(nil))
	c := w.Config()
	c.MCPServersFile = filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(c.MCPServersFile, file, 0o600); err != nil {
		t.Fatal(err)
	}
	w.WorkWith(c)

	var want []string
	for _, call := range npmCalls {
		want = append(want, toolspec.MCPToolID(call.server, call.tool))
	}
	discovered := discoveredTools(w, want)
	for id := range discovered {
		if !slices.Contains(want, id) && id != taskOnly && !strings.HasPrefix(id, "mcp__web__") {
			t.Errorf("no call of %s", id)
		}
	}
	w.Apply(npmPolicy(discovered))
	w.Until(func() bool {
		for _, spec := range discoveredTools(w, want) {
			if spec.Discovered.Review == "" {
				return false
			}
		}
		return true
	}, "the worker has the reviews")

	for i, call := range npmCalls {
		inv := e2etest.Invocation(fmt.Sprint("call-", i), toolspec.MCPToolID(call.server, call.tool), strings.ReplaceAll(call.args, "DIR", dir))
		started := w.Start(inv)
		if !isRead(discovered[inv.ToolID]) {
			w.Approve(started.WorkflowID)
		}
		if r := w.Result(started); !r.OK || !strings.Contains(string(r.Value), call.want) {
			t.Errorf("%s returns %+v with %.300s, want %q", inv.ToolID, r, r.Value, call.want)
		}
	}
	task := w.Start(e2etest.Invocation("task", taskOnly, `{"topic":"Go"}`))
	w.Approve(task.WorkflowID)
	if r := w.Result(task); r.ErrorCode != toolspec.CodeExecution || !strings.Contains(r.SafeMessage, "task") {
		t.Errorf("%s returns %+v", taskOnly, r)
	}
	killedInACall(t, w, script("everything"))
}

// killedInACall kills the server during a call that reports progress. The call is a read, so it is repeated.
func killedInACall(t *testing.T, w *e2etest.World, script string) {
	inv := e2etest.Invocation("killed", "mcp__everything__trigger-long-running-operation", `{"duration":6,"steps":12}`)
	call := w.Start(inv)
	w.Until(func() bool {
		p, reported, err := w.Pawl.Progress(t.Context(), call.WorkflowID)
		return err == nil && reported && p.Total == 12 && p.Done > 0
	}, "progress arrives")
	killChild(t, script+" stdio")
	if r := w.Result(call); !r.OK || r.Attempts < 2 {
		t.Errorf("the call returns %+v", r)
	}
}

// killChild kills the child of this process whose command line has this text. It never kills a child of another process.
func killChild(t *testing.T, text string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pgrep", "-P", strconv.Itoa(os.Getpid()), "-f", text).Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("%q has not one process: %v", text, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// isRead reports whether the server says that a tool has no effect.
func isRead(spec toolspec.Spec) bool {
	var hints struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	}
	return json.Unmarshal(spec.Discovered.Annotations, &hints) == nil && hints.ReadOnlyHint
}

// npmPolicy returns a policy with a review of each tool. It accepts the claim of a server that a tool is a read.
func npmPolicy(tools map[string]toolspec.Spec) string {
	reviews := map[string]map[string]any{}
	for _, spec := range tools {
		effect, risk := "external_side_effect", "high"
		if isRead(spec) {
			effect, risk = "read_only", "low"
		}
		if reviews[spec.ProvidedBy] == nil {
			reviews[spec.ProvidedBy] = map[string]any{}
		}
		reviews[spec.ProvidedBy][spec.Discovered.Name] = map[string]any{
			"digest": spec.Discovered.Digest, "effect": effect, "risk": risk, "allow": []string{"/"},
		}
	}
	doc, err := json.Marshal(map[string]any{"version": 1, "mcp": reviews, "tenants": map[string]any{"acme": map[string]any{
		"allowedTools": []string{"mcp__*"}, "mode": "auto", "approvals": map[string]any{"enabled": true, "expiresAfter": "1h", "allowUnsigned": true},
	}}})
	if err != nil {
		panic(err)
	}
	return string(doc)
}

// discoveredTools waits until the worker has published the tools in want, and returns all discovered tools by id.
func discoveredTools(w *e2etest.World, want []string) map[string]toolspec.Spec {
	found := map[string]toolspec.Spec{}
	w.Until(func() bool {
		specs, err := w.Store.LiveSpecs(w.T.Context())
		if err != nil {
			return false
		}
		clear(found)
		for _, spec := range specs {
			if spec.Discovered != nil {
				found[spec.Name] = spec
			}
		}
		return !slices.ContainsFunc(want, func(id string) bool { _, ok := found[id]; return !ok })
	}, "the tools of all servers are published")
	return found
}

// serveHTTP serves a script over streamable HTTP, and returns its address.
func serveHTTP(t *testing.T, script string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	cmd := exec.Command("node", script, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(output)
	listening := false
	for !listening && lines.Scan() {
		listening = strings.Contains(lines.Text(), "listening")
	}
	if !listening {
		t.Fatal("the server has ended")
	}
	go func() {
		for lines.Scan() { // the output is read, so that the server never blocks while it writes
		}
	}()
	return "http://127.0.0.1:" + port + "/mcp"
}
