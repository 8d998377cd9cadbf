package sources

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// mcpPolicy returns a policy that allows the tenant acme every tool of the server srv and has reviews of some of them.
func mcpPolicy(reviews ...string) string {
	return fmt.Sprintf(`version: 1
tenants:
  acme:
    allowedTools: ["mcp__srv__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
mcp: {srv: {%s}}
`, strings.Join(reviews, ", "))
}

func mcpReview(spec toolspec.Spec, effect, risk string) string {
	return fmt.Sprintf("%s: {digest: %s, effect: %s, risk: %s, allow: [/*/type, /*/text]}", spec.Discovered.Name, spec.Discovered.Digest, effect, risk)
}

// TestMCPServer: calls of the tools of a server go through every stage of a call. A tool of the server is denied
// before a person has reviewed it, and again after its definition has changed (MC-01…MC-05, MC-07, MC-10, MC-12).
func TestMCPServer(t *testing.T) {
	t.Parallel()
	var echoes, deletes atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	echo := func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
		echoes.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}, IsError: in.Text == "fail"}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its text."}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "delete", Description: "Deletes."}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
		deletes.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	w := e2etest.NewWorld(t, mcpPolicy())
	c := w.Config()
	c.MCPServersFile = filepath.Join(t.TempDir(), "servers.yaml")
	servers := fmt.Sprintf("mcpServers:\n  srv: {url: %q}\n  dead: {url: \"http://127.0.0.1:1/mcp\"}\n  missing: {command: /no/such/program}\n", web.URL)
	if err := os.WriteFile(c.MCPServersFile, []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	w.WorkWith(c)
	calls := 0
	invoke := func(tool, text string) toolspec.Result {
		calls++
		return w.Invoke(e2etest.Invocation(fmt.Sprint("call-", calls), tool, fmt.Sprintf(`{"text":%q}`, text)))
	}
	spec := func(tool string, ok func(toolspec.Spec) bool) (found toolspec.Spec) {
		t.Helper()
		w.Until(func() bool {
			specs, err := w.Store.LiveSpecs(t.Context())
			if err != nil {
				return false
			}
			for _, s := range specs {
				if s.Name == tool && ok(s) {
					found = s
					return true
				}
			}
			return false
		}, "the tool "+tool+" is published")
		return found
	}
	discovered := func(s toolspec.Spec) bool { return s.Discovered != nil && s.ProvidedBy == "srv" }
	echoed, deleted := spec("mcp__srv__echo", discovered), spec("mcp__srv__delete", discovered)

	// A discovered tool is not enabled, although the tenant allows its id.
	e2etest.WantCode(t, invoke("mcp__srv__echo", "a"), toolspec.CodePolicyDenied)
	w.Apply(mcpPolicy(mcpReview(echoed, "read_only", "low"), mcpReview(deleted, "external_side_effect", "high")))
	reviewed := func(s toolspec.Spec) bool { return discovered(s) && s.Discovered.Review != "" }
	spec("mcp__srv__echo", reviewed)
	r := invoke("mcp__srv__echo", "a")
	if want := `[{"text":"a","type":"text"}]`; !r.OK || string(r.Value) != want || r.Kind != toolspec.KindParts {
		t.Errorf("the call returns %+v, want %s", r, want)
	}
	r = invoke("mcp__srv__echo", "fail")
	e2etest.WantCode(t, r, toolspec.CodeExecution)
	if !strings.Contains(r.SafeMessage, "failed: fail") {
		t.Errorf("the failure says %q", r.SafeMessage)
	}

	// The review says that this tool has a high risk, so its call needs an approval.
	calls++
	call := w.Start(e2etest.Invocation(fmt.Sprint("call-", calls), "mcp__srv__delete", `{"text":"x"}`))
	w.Approve(call.WorkflowID)
	if r := w.Result(call); !r.OK || deletes.Load() != 1 {
		t.Errorf("the approved call returns %+v after %d effects", r, deletes.Load())
	}

	// A changed definition has no review any more, a new tool has none yet, and a removed tool is not listed.
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its text, and more."}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "new"}, echo)
	server.RemoveTools("delete")
	changed := func(s toolspec.Spec) bool { return discovered(s) && s.Discovered.Digest != echoed.Discovered.Digest }
	echoed = spec("mcp__srv__echo", changed)
	before := echoes.Load()
	e2etest.WantCode(t, invoke("mcp__srv__echo", "a"), toolspec.CodePolicyDenied)
	e2etest.WantCode(t, invoke("mcp__srv__new", "a"), toolspec.CodePolicyDenied)
	if got := echoes.Load(); got != before {
		t.Errorf("the server got %d denied calls", got-before)
	}
	w.Apply(mcpPolicy(mcpReview(echoed, "read_only", "low")))
	spec("mcp__srv__echo", func(s toolspec.Spec) bool {
		return reviewed(s) && s.Discovered.Digest == echoed.Discovered.Digest
	})
	if r := invoke("mcp__srv__echo", "b"); !r.OK {
		t.Errorf("after the new review the call returns %+v", r)
	}
	for _, want := range []string{"mcpServer=dead", "mcpServer=missing", "cannot be reached", "cannot be started"} {
		if !strings.Contains(w.Log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}

// TestManyMCPServers: of 30 servers 10 do not answer. The worker is soon ready with the tools of the other 20, and gets the tools of the 10 later without a
// restart (MC-09).
func TestManyMCPServers(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	var back atomic.Bool
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away := r.URL.Path == "/away"; away && !back.Load() {
			// A server that does not answer is worse than one that refuses. It notices that the client is gone only after it has read the body.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	var servers strings.Builder
	servers.WriteString("mcpServers:\n")
	for i := range 30 {
		path := "/mcp"
		if i%3 == 0 {
			path = "/away"
		}
		fmt.Fprintf(&servers, "  srv%d: {url: %q, startTimeout: 2s}\n", i, web.URL+path)
	}
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	c := w.Config()
	c.MCPServersFile = filepath.Join(t.TempDir(), "servers.yaml")
	if err := os.WriteFile(c.MCPServersFile, []byte(servers.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	published := func(want int) func() bool {
		return func() bool {
			specs, err := w.Store.LiveSpecs(t.Context())
			found := 0
			for _, s := range specs {
				if s.Origin == "mcp" {
					found++
				}
			}
			return err == nil && found == want
		}
	}
	began := time.Now()
	w.WorkWith(c)
	w.Until(published(20), "the tools of 20 servers")
	if r := w.Invoke(e2etest.Invocation("builtin", "core__get_current_time", `{}`)); !r.OK {
		t.Errorf("a call beside dead servers returns %+v", r)
	}
	t.Logf("ready with a call after %s", time.Since(began))
	back.Store(true)
	w.Until(published(30), "the tools of all servers")
}
