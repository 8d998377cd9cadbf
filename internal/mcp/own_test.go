package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// leased is the client of a connection: it adds its name to requests, and keeps what was asked of it.
type leased struct {
	name string
	mu   sync.Mutex
	sent []string // method of HTTP, method of the protocol, and whether the request may be repeated
}

func (l *leased) For(id string) (*http.Client, error) {
	if id != l.name {
		return nil, capability.ErrNoConnection
	}
	return &http.Client{Transport: l}, nil
}

func (l *leased) BaseURL(string, string) (*url.URL, error) { return nil, capability.ErrNoHost }

func (l *leased) RoundTrip(req *http.Request) (*http.Response, error) {
	_, repeatable := req.Header["X-Idempotency-Key"]
	what := req.Method + " " + methodOf(req)
	if repeatable {
		what += " again"
	}
	l.mu.Lock()
	l.sent = append(l.sent, what)
	l.mu.Unlock()
	sent := req.Clone(req.Context())
	sent.Header.Set("Authorization", "Bearer "+l.name)
	return http.DefaultTransport.RoundTrip(sent)
}

// TestSessionOfACall: calls of two connections at once have sessions of their own, which end with the call. The request that
// calls the tool is the only one that must not be sent again. The token of the worker is in none of them.
func TestSessionOfACall(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "who"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var mu sync.Mutex
	sessions := map[string]map[string]bool{} // the credentials with which a session was used
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			mu.Lock()
			if sessions[id] == nil {
				sessions[id] = map[string]bool{}
			}
			sessions[id][r.Header.Get("Authorization")] = true
			mu.Unlock()
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	for _, version := range []string{"", legacyVersion} {
		r := start(t, Server{Transport: Streamable, URL: web.URL, Connection: true, TokenFrom: tokenVariable, ProtocolVersion: version})
		tool := r.trusted("who")
		if d := tool.Definition(); !d.RequiresConnection {
			t.Errorf("the tool requires no connection: %+v", d)
		}
		var all sync.WaitGroup
		connections := []*leased{{name: "ann"}, {name: "bob"}}
		for _, l := range connections {
			for range 3 {
				all.Go(func() {
					caps, err := toolspec.NewCapabilities(capability.ProgressKey.Provide(&reports{some: make(chan struct{}, 1)}), capability.ClientsKey.Provide(l))
					if err != nil {
						t.Error(err)
						return
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					call := toolspec.Call{ToolID: "mcp__srv__who", Context: toolspec.Context{ConnectionID: l.name}}.WithCapabilities(caps)
					if out, err := tool.Run(ctx, json.RawMessage(`{}`), call); err != nil || string(out) != `[{"type":"text","text":"Bearer `+l.name+`"}]` {
						t.Errorf("the call of %s returns %s, %v", l.name, out, err)
					}
				})
			}
		}
		all.Wait()
		for _, l := range connections {
			calls := 0
			for _, what := range l.sent {
				isCall := strings.Contains(what, callMethod)
				if isCall {
					calls++
				}
				if strings.HasSuffix(what, " again") == isCall {
					t.Errorf("%s sent %q", l.name, what)
				}
			}
			if calls != 3 {
				t.Errorf("%s sent %q", l.name, l.sent)
			}
		}
		r.stop()
	}
	mu.Lock()
	defer mu.Unlock()
	for id, users := range sessions {
		if len(users) != 1 {
			t.Errorf("the session %s was used with %v", id, users)
		}
	}
	if n := len(sessions); n < 7 { // of the revision that has sessions, each call has one, and the worker has one
		t.Errorf("%d sessions", n)
	}
}
