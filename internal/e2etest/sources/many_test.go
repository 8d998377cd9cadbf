package sources

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/internal/e2etest"
)

// TestManyServers: of thirty servers ten are dead, five of these swallow what they get. The worker is ready in under five seconds and offers
// the tools of the others. A server that comes back is there without a restart.
func TestManyServers(t *testing.T) {
	const live, refusing, silent = 20, 5, 5
	type in struct {
		Text string `json:"text"`
	}
	handler := func() http.Handler {
		server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its text."}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	}
	serve := func(l net.Listener) string {
		web := httptest.NewUnstartedServer(handler())
		if l != nil {
			_ = web.Listener.Close()
			web.Listener = l
		}
		web.Start()
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
		})
		return web.URL
	}
	listen := func(address string) net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var servers strings.Builder
	servers.WriteString("mcpServers:\n")
	for i := range live {
		fmt.Fprintf(&servers, "  live%d: {url: %q}\n", i, serve(nil))
	}
	var dead string
	for i := range refusing {
		l := listen("127.0.0.1:0")
		dead = l.Addr().String()
		_ = l.Close()
		fmt.Fprintf(&servers, "  refusing%d: {url: \"http://%s\"}\n", i, dead)
	}
	for i := range silent { // accepts and never answers
		l := listen("127.0.0.1:0")
		t.Cleanup(func() { _ = l.Close() })
		fmt.Fprintf(&servers, "  silent%d: {url: \"http://%s\"}\n", i, l.Addr())
	}
	w := e2etest.NewWorld(t, npmPolicy(nil))
	c := w.Config()
	c.MCPServersFile = filepath.Join(t.TempDir(), "servers.yaml")
	if err := os.WriteFile(c.MCPServersFile, []byte(servers.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.WorkWith(c)
	w.Until(func() bool { return w.Log.Has("worker runs") }, "the worker runs")
	t.Logf("the worker was ready after %s", time.Since(began))
	// The rest of the start is as long as the machine is slow.
	phase := regexp.MustCompile(`kind=mcp tools=\d+ took=(\S+)`).FindStringSubmatch(w.Log.String())
	if phase == nil {
		t.Fatal("the log does not say how long the start waited for the servers")
	}
	if took, err := time.ParseDuration(phase[1]); err != nil || took > 5*time.Second {
		t.Errorf("the start waited %s for the servers, %v", took, err)
	}
	var want []string
	for i := range live {
		want = append(want, fmt.Sprintf("mcp__live%d__echo", i))
	}
	if got := discoveredTools(w, want); len(got) != live {
		t.Errorf("%d tools are published, want %d", len(got), live)
	}
	states, err := w.Store.WorkerSources(t.Context())
	faulty := 0
	for _, state := range states {
		for _, s := range state.Sources {
			if s.Fault != "" {
				faulty++
			}
		}
	}
	if err != nil || faulty != refusing+silent {
		t.Errorf("%d sources are faulty, %v", faulty, err)
	}
	serve(listen(dead))
	back := fmt.Sprintf("mcp__refusing%d__echo", refusing-1)
	discoveredTools(w, []string{back})
}
