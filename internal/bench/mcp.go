package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// MCPReport says what a call of a tool of an MCP server costs.
type MCPReport struct {
	Server string      `json:"server"`
	Rounds int         `json:"rounds"`
	Cases  []MCPFigure `json:"cases"`
}

// MCPFigure has the times of one way to call a tool. Ratio compares them with the direct call in the same round.
type MCPFigure struct {
	Name  string  `json:"name"`
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms"`
	Ratio float64 `json:"p50_ratio"`
}

const (
	mcpServerID = "bench"
	mcpTool     = "echo"
	// mcpWait bounds the wait for the tool of the server.
	mcpWait = time.Minute
)

// MCP measures a call of a tool of an MCP server over streamable HTTP: by a session of the SDK itself, and by a call of
// Pawl. It also measures a read of the worker's own program, to show how much of a call of Pawl the server adds. The
// server is in this process.
func MCP(ctx context.Context, o Options) (_ *MCPReport, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	address, stop, err := serveMCP()
	if err != nil {
		return nil, err
	}
	defer stop()
	dir, err := os.MkdirTemp("", "pawl-bench-mcp-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "servers.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "mcpServers: {%s: {url: %q}}\n", mcpServerID, address), 0o600); err != nil {
		return nil, err
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.mcpServers = file
	if err := s.servePawl(ctx); err != nil {
		return nil, err
	}
	if err := s.trustMCP(ctx); err != nil {
		return nil, err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address}, nil)
	if err != nil {
		return nil, fmt.Errorf("bench: connect to the MCP server: %w", err)
	}
	defer func() { _ = session.Close() }()
	ways := []struct {
		name string
		call func(ctx context.Context, id string) error
	}{
		{"direct", func(ctx context.Context, _ string) error { return callDirectly(ctx, session) }},
		{"read_only", func(ctx context.Context, id string) error { return invoke(ctx, s.pawl, readTool, id, "hello", "") }},
		{"mcp", func(ctx context.Context, id string) error { return invokeMCP(ctx, s.pawl, id) }},
	}
	report := &MCPReport{Rounds: o.Rounds}
	p50s, p95s, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	run := fmt.Sprintf("%08x", rand.Uint32()) //nolint:gosec // the database may know the calls of runs before
	for round := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d", round+1, o.Rounds))
		var direct float64
		for _, w := range ways {
			var took []time.Duration
			for i := range warmUp + o.Calls {
				began := time.Now()
				if err := w.call(ctx, fmt.Sprintf("%s-%s-%d-%d", run, w.name, round, i)); err != nil {
					return nil, fmt.Errorf("%s: %w", w.name, err)
				}
				if i >= warmUp {
					took = append(took, time.Since(began))
				}
			}
			p50 := ms(quantile(took, 0.5))
			if w.name == "direct" {
				direct = p50
			}
			p50s[w.name], p95s[w.name], ratios[w.name] = append(p50s[w.name], p50), append(p95s[w.name], ms(quantile(took, 0.95))), append(ratios[w.name], p50/direct)
		}
	}
	for _, w := range ways {
		report.Cases = append(report.Cases, MCPFigure{Name: w.name, P50Ms: median(p50s[w.name]), P95Ms: median(p95s[w.name]), Ratio: median(ratios[w.name])})
	}
	report.Server, err = serverOf(ctx, s, o)
	return report, err
}

// serveMCP serves a tool that returns its text.
func serveMCP() (address string, stop func(), err error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: mcpTool, Description: "Returns its text."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = web.Close() }, nil
}

// trustMCP reviews the tool of the server, and waits until the review is in force.
func (s *stand) trustMCP(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mcpWait)
	defer cancel()
	store, err := postgres.Open(ctx, s.stack.DatabaseURL(), postgres.Options{Application: "pawl-bench"})
	if err != nil {
		return err
	}
	defer store.Close()
	discovered, err := mcpSpec(ctx, store, false)
	if err != nil {
		return err
	}
	text := strings.Replace(rules, `["bench__*", "core__*"]`, `["bench__*", "core__*", "mcp__*"]`, 1) +
		fmt.Sprintf("mcp: {%s: {%s: {digest: %s, effect: read_only, risk: low, allow: [/*/type, /*/text]}}}\n", mcpServerID, mcpTool, discovered.Discovered.Digest)
	p, err := policy.Parse("bench.yaml", []byte(text))
	if err != nil {
		return err
	}
	if _, err := store.ApplyPolicy(ctx, p, "pawl bench"); err != nil {
		return err
	}
	_, err = mcpSpec(ctx, store, true)
	return err
}

// mcpSpec waits for the tool of the server, with or without a review.
func mcpSpec(ctx context.Context, store *postgres.Store, reviewed bool) (toolspec.Spec, error) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		specs, err := store.LiveSpecs(ctx)
		if err != nil {
			return toolspec.Spec{}, err
		}
		for _, spec := range specs {
			if spec.Name == toolspec.MCPToolID(mcpServerID, mcpTool) && (spec.Discovered.Review != "") == reviewed {
				return spec, nil
			}
		}
		select {
		case <-ctx.Done():
			return toolspec.Spec{}, fmt.Errorf("bench: the worker does not offer the tool of the MCP server: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func callDirectly(ctx context.Context, session *mcp.ClientSession) error {
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: mcpTool, Arguments: map[string]any{"text": "hello"}})
	if err != nil {
		return err
	}
	if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != "hello" {
		return errors.New("the MCP server answered something else")
	}
	return nil
}

func invokeMCP(ctx context.Context, c *client.Client, id string) error {
	inv := invocation(toolspec.MCPToolID(mcpServerID, mcpTool), id, "")
	inv.Args = json.RawMessage(`{"text":"hello"}`)
	r, err := c.Invoke(ctx, inv)
	if err != nil {
		return err
	}
	if want := `[{"text":"hello","type":"text"}]`; string(r.Value) != want {
		return fmt.Errorf("%s answered %s", id, r.Value)
	}
	return nil
}
