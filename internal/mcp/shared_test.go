package mcp

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// callOf is a call of a tool with the connection of l.
func callOf(t *testing.T, l *leased, tool string) toolspec.Call {
	t.Helper()
	caps, err := toolspec.NewCapabilities(capability.ProgressKey.Provide(&reports{some: make(chan struct{}, 1)}), capability.ClientsKey.Provide(l))
	if err != nil {
		t.Fatal(err)
	}
	return toolspec.Call{ToolID: "mcp__srv__" + tool, Context: toolspec.Context{ConnectionID: l.name}}.WithCapabilities(caps)
}

// TestSessionsOfCallsAreBounded: all sessions with a server are read at one rate, and only so many of calls are open at once.
// A call that finds no place comes back later, and finds one.
func TestSessionsOfCallsAreBounded(t *testing.T) {
	t.Parallel()
	s := served(t, Streamable)
	s.Connection = true
	r := start(t, s)
	tool, l := r.trusted("length"), &leased{name: "ann"}
	of := target{name: "length", def: tool.Definition()}
	opened, release := make(chan *session), make(chan struct{})
	done := make(chan error, maxOwnSessions)
	for range maxOwnSessions {
		go func() {
			_, err := r.source.connected(t.Context(), of, callOf(t, l, "length"), func(se *session) (*sdk.CallToolResult, error) {
				opened <- se
				<-release
				return nil, nil
			})
			done <- err
		}()
	}
	first := r.source.current.Load().in
	for range maxOwnSessions {
		select {
		case se := <-opened:
			if se.in.rate != first.rate || se.in.volume != first.volume {
				t.Error("the session of a call is read at a rate of its own")
			}
		case err := <-done:
			t.Fatalf("a call ends with %v", err)
		}
	}
	var busy *toolspec.BusyError
	if _, err := tool.Run(t.Context(), json.RawMessage(`{"text":"a"}`), callOf(t, l, "length")); !errors.As(err, &busy) {
		t.Errorf("one call more returns %v", err)
	}
	close(release)
	for range maxOwnSessions {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := tool.Run(t.Context(), json.RawMessage(`{"text":"a"}`), callOf(t, l, "length")); err != nil {
		t.Errorf("the next call returns %v", err)
	}
}

// TestServerLearnsOfACancelledCall: a server learns that a call with a session of its own is cancelled, before the session ends.
func TestServerLearnsOfACancelledCall(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", legacyVersion} {
		began := make(chan struct{})
		server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			began <- struct{}{}
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
		var seen atomic.Int64
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"`+cancelledMethod+`"`) {
				seen.Add(1)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
		})
		r := start(t, Server{Transport: Streamable, URL: web.URL, Connection: true, ProtocolVersion: version})
		tool, l := r.trusted("wait"), &leased{name: "ann"}
		seen.Store(0)
		const calls = 20
		for range calls {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := tool.Run(ctx, json.RawMessage(`{}`), callOf(t, l, "wait"))
				done <- err
			}()
			<-began
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("the call returns %v", err)
			}
		}
		if n := seen.Load(); n < calls {
			t.Errorf("%q: the server learned of %d of %d calls", version, n, calls)
		}
		r.stop()
	}
}

// TestOnlyWhatIsKnownIsRepeatable: what cannot be read, or is not known to be without an effect, is sent once.
func TestOnlyWhatIsKnownIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, body string
		unreadable   bool
		want         bool
	}{
		{http.MethodGet, "", false, true},
		{http.MethodDelete, "", false, true},
		{http.MethodPut, "", false, false},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, false, true},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, false, true},
		{http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, false, true},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}`, false, false},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, false, false},
		{http.MethodPost, `{"jsonrpc":"2.0","method":"tools/call"}`, false, false},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/other"}`, false, false},
		{http.MethodPost, `[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`, false, false},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, true, false},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://localhost", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.unreadable {
			req.GetBody = nil
		}
		if got := repeatable(req, methodOf(req)); got != c.want {
			t.Errorf("%s %s (unreadable: %t) may be repeated: %t", c.method, c.body, c.unreadable, got)
		}
	}
}

// TestRefusalOfOneCall: a status that refuses one call ends no session, so other calls of it know their outcome.
func TestRefusalOfOneCall(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden} {
		began, release := make(chan struct{}), make(chan struct{})
		server := sdkServer()
		sdk.AddTool(server, &sdk.Tool{Name: "wait"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			close(began)
			<-release
			return &sdk.CallToolResult{Content: []sdk.Content{}}, nil, nil
		})
		handler := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"refuse me"`) {
				w.WriteHeader(status)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
		})
		r := start(t, Server{Transport: SSE, URL: web.URL})
		effect := func(r *policy.MCPReview) { r.Effect = toolspec.ExternalSideEffect }
		wait, length := r.trusted("wait", effect), r.trusted("length", effect)
		done := make(chan error, 1)
		go func() {
			_, _, err := call(t, wait, `{}`, time.Minute)
			done <- err
		}()
		<-began
		var unanswered *toolspec.UnansweredError
		if _, _, err := call(t, length, `{"text":"refuse me"}`, time.Minute); err == nil || errors.As(err, &unanswered) {
			t.Errorf("%d: the refused call returns %v", status, err)
		}
		if out, _, err := call(t, length, `{"text":"four"}`, time.Minute); err != nil || out != `{"length":4}` {
			t.Errorf("%d: the next call returns %s, %v", status, out, err)
		}
		close(release)
		if err := <-done; err != nil {
			t.Errorf("%d: the call that ran returns %v", status, err)
		}
		r.stop()
	}
}

// TestNoConnectionGoesAroundTheDial: a server with a dialer or roots of its own, as a registered one has, gets no session whose
// requests another transport sends.
func TestNoConnectionGoesAroundTheDial(t *testing.T) {
	t.Parallel()
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("not dialled") }
	for name, s := range map[string]Server{
		"a dialer": {ID: "srv", Transport: Streamable, URL: "https://mcp.example.com", Dial: dial},
		"roots":    {ID: "srv", Transport: Streamable, URL: "https://mcp.example.com", Roots: x509.NewCertPool()},
	} {
		l := &leased{name: "ann"}
		if _, err := openSession(t.Context(), s, way{base: l, flow: newFlow()}); !errors.Is(err, errOwnDial) || len(l.sent) > 0 {
			t.Errorf("%s: the session starts with %v after %q", name, err, l.sent)
		}
		s.Connection = true
		if _, err := NewSource(s, Options{Reviews: newReviews(), Log: discard()}); !errors.Is(err, errOwnDial) {
			t.Errorf("%s: NewSource returns %v", name, err)
		}
	}
}
