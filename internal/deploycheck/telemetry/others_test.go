package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// othersPolicy allows the tools of TestReceiversOfOthers, with reviews of the tools of the MCP server.
func othersPolicy(reviews string) string {
	return fmt.Sprintf(`
version: 1
tenants:
  acme:
    allowedTools: ["test__*", "mcp__srv__*"]
    mode: auto
mcp: {srv: {%s}}
`, reviews)
}

// httpTools is a document with a tool that reads from a server.
const httpTools = `
format: 1
name: test
tools:
  - id: test__get
    description: Reads an issue.
    version: "1"
    effect: read_only
    risk: low
    connection: required
    redaction: {allow: [/title]}
    input: {type: object, properties: {}}
    request: {method: GET, path: /issue}
    response:
      type: json
      schema: {type: object, properties: {title: {type: string}}, required: [title]}
`

// TestReceiversOfOthers: servers with the instrumentation of OpenTelemetry put the requests of an HTTP tool and of an MCP tool below the attempt that has
// sent them. The MCP server is that of the official SDK, whose tool sees the header too.
func TestReceiversOfOthers(t *testing.T) {
	r := receive(t, "http/protobuf")
	w := e2etest.NewWorld(t, othersPolicy(""))
	seen := tracetest.NewSpanRecorder()
	others := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen))
	serve := func(name string, h http.Handler) *httptest.Server {
		s := httptest.NewServer(otelhttp.NewHandler(h, name, otelhttp.WithTracerProvider(others), otelhttp.WithPropagators(propagation.TraceContext{}),
			otelhttp.WithSpanNameFormatter(func(operation string, _ *http.Request) string { return operation })))
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
		return s
	}
	api := serve("api", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"title":"a"}`)
	}))
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "where", Description: "Says in which trace it runs."}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		h := req.Extra.Header
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join([]string{h.Get("Traceparent"), h.Get("Tracestate"), h.Get("Baggage")}, "|")}}}, nil, nil
	})
	web := serve("mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))

	v := e2etest.NewVault(w)
	at, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	v.Add("c1", broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{at.Host}, Insecure: true}, string(e2etest.NewCanary()))
	v.Grant("c1", e2etest.Actor)
	config := v.Config()
	config.OTLP = worker.OTLP{Traces: true}
	config.HTTPTools, config.MCPServersFile = filepath.Join(t.TempDir(), "tools.yaml"), filepath.Join(t.TempDir(), "servers.yaml")
	for name, text := range map[string]string{config.HTTPTools: httpTools, config.MCPServersFile: fmt.Sprintf("mcpServers: {srv: {url: %q}}\n", web.URL)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop := w.WorkWith(config)
	var where toolspec.Spec
	published := func(reviewed bool) func() bool {
		return func() bool {
			all, err := w.Store.LiveSpecs(t.Context())
			for _, s := range all {
				if err == nil && s.Name == "mcp__srv__where" && (s.Discovered.Review != "") == reviewed {
					where = s
					return true
				}
			}
			return false
		}
	}
	w.Until(published(false), "the tool of the MCP server is published")
	w.Apply(othersPolicy(fmt.Sprintf("where: {digest: %s, effect: read_only, risk: low, allow: [/*/type, /*/text]}", where.Discovered.Digest)))
	w.Until(published(true), "the review is in force")
	if result := w.Invoke(e2etest.Over(e2etest.Invocation("get", "test__get", `{}`), "c1")); !result.OK {
		t.Fatalf("the HTTP tool ended %+v", result)
	}
	answer := w.Invoke(e2etest.Invocation("where", "mcp__srv__where", `{}`))
	if !answer.OK {
		t.Fatalf("the MCP tool ended %+v", answer)
	}
	stop()

	sent, got := r.spans(), map[string]int{}
	for _, s := range seen.Ended() {
		if !s.Parent().IsValid() {
			continue // a request of no call, such as the one that lists the tools
		}
		above, ok := sent[pcommon.SpanID(s.Parent().SpanID())]
		if !ok {
			t.Errorf("a request to %s is below a span that was not sent", s.Name())
			continue
		}
		tool := attribute(above, "gen_ai.tool.name")
		if above.Name() != "RunActivity:execute" || above.TraceID() != pcommon.TraceID(s.SpanContext().TraceID()) || !s.Parent().IsRemote() ||
			tool != map[string]any{"api": "test__get", "mcp": "mcp__srv__where"}[s.Name()] {
			t.Errorf("a request to %s is below %q of %v", s.Name(), above.Name(), tool)
		}
		got[s.Name()]++
		header := fmt.Sprintf("00-%s-%s-01||", s.Parent().TraceID(), s.Parent().SpanID())
		if s.Name() == "mcp" && !strings.Contains(string(answer.Value), header) {
			t.Errorf("the tool of the MCP server saw %s, want %s", answer.Value, header)
		}
	}
	if got["api"] != 1 || got["mcp"] == 0 {
		t.Errorf("requests below attempts: %v", got)
	}
}
