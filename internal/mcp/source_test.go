package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/toolspec/source/sourcetest"
)

// sdkServer is a server of the SDK with a tool that reports progress.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Length int `json:"length"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "length", Description: "Returns the length of a text."}, func(ctx context.Context, r *sdk.CallToolRequest, in in) (*sdk.CallToolResult, out, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"})
		return nil, out{len(in.Text)}, err
	})
	return s
}

// served returns the configuration of the server of the SDK over a transport of HTTP.
func served(t testing.TB, transport Transport) Server {
	t.Helper()
	server := sdkServer()
	get := func(*http.Request) *sdk.Server { return server }
	handler := http.Handler(sdk.NewStreamableHTTPHandler(get, nil))
	if transport == SSE {
		handler = sdk.NewSSEHandler(get, nil)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		// A client that stops before it knows the id of its session cannot end the session.
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return Server{ID: "srv", Transport: transport, URL: web.URL}
}

func TestServersOfTheSDK(t *testing.T) {
	t.Parallel()
	for _, transport := range []Transport{Streamable, SSE} {
		for _, version := range append([]string{""}, protocolVersions...) {
			t.Run(string(transport)+" "+version, func(t *testing.T) {
				t.Parallel()
				s := served(t, transport)
				s.ProtocolVersion = version
				r := start(t, s)
				tool := r.trusted("length")
				out, _, err := call(t, tool, `{"text":"four"}`, time.Minute)
				if err != nil || out != `{"length":4}` {
					t.Errorf("%s, %v", out, err)
				}
				if d := tool.Definition(); d.ProvidedBy != "srv" || d.ID != "mcp__srv__length" || tool.Kind() != toolspec.KindJSON {
					t.Errorf("%+v", d)
				}
			})
		}
	}
}

// TestContract runs the suite of sources. It is not parallel, because the suite looks for goroutines.
func TestContract(t *testing.T) {
	for _, transport := range []Transport{Stdio, Streamable, SSE} {
		t.Run(string(transport), func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) source.Source {
				t.Cleanup(givenUp.Wait) // this may take longer than the suite waits for goroutines to end
				s := stdio(t, "writes a banner")
				if transport != Stdio {
					s = served(t, transport)
				}
				src, err := NewSource(s, Options{Reviews: newReviews(), Log: discard(), Lookup: os.LookupEnv})
				if err != nil {
					t.Fatal(err)
				}
				return src
			})
		})
	}
}

// TestHostileWeb has what only a server over HTTP can do.
func TestHostileWeb(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	for _, c := range []struct {
		name      string
		transport Transport
		handler   http.HandlerFunc
		fault     string
	}{
		{"redirects", Streamable, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "redirects"},
		{"redirects to itself", Streamable, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/again", http.StatusPermanentRedirect)
		}, "redirects"},
		{"names an endpoint of another host", SSE, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "another host"},
		{"names no endpoint", SSE, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "in time"},
		{"does not answer", Streamable, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "in time"},
		{"answers with a page", Streamable, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "broke the protocol"},
		{"is not allowed", Streamable, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "wants a credential"},
		{"fails", Streamable, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "broke the protocol"},
		{"fails with a large page", Streamable, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			for range 100 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			}
		}, "broke the protocol|too large"},
		{"sends JSON without an end", Streamable, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for {
				if _, err := io.WriteString(w, strings.Repeat("[", 1<<20)); err != nil {
					return
				}
			}
		}, "too large"},
		{"sends an event without an end", Streamable, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
		}, "too large"},
		{"sends an event of many lines", Streamable, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<20)+"\n"); err != nil {
					return
				}
			}
		}, "too large|broke the protocol"},
		{"sends large headers", Streamable, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, "broke the protocol"},
		{"closes connections", Streamable, func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = c.Close()
			}
		}, "broke the protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(c.handler)
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			r := start(t, Server{ID: "srv", Transport: c.transport, URL: web.URL, StartTimeout: 2 * time.Second})
			r.until("the fault "+c.fault, func(o source.Offer) bool {
				for one := range strings.SplitSeq(c.fault, "|") {
					if strings.Contains(o.Fault, one) {
						return true
					}
				}
				return false
			})
		})
	}
	t.Cleanup(func() {
		if asked.Load() > 0 {
			t.Error("another host was asked")
		}
	})
}

// TestLostSession: a server that forgets its sessions gets new ones, and a server that is away comes back.
func TestLostSession(t *testing.T) {
	t.Parallel()
	var forgets, away atomic.Bool
	good := webServer(well)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case away.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case forgets.Swap(false):
			w.WriteHeader(http.StatusNotFound)
		default:
			good.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	r := start(t, Server{Transport: Streamable, URL: web.URL})
	works(t, r)
	tool := r.trusted("echo")
	forgets.Store(true)
	if _, _, err := call(t, tool, `{}`, time.Minute); err == nil || unanswered(err) != "" {
		t.Errorf("a call in a session that the server has forgotten returns %v", err)
	}
	works(t, r)
	away.Store(true)
	if _, _, err := call(t, tool, `{}`, time.Minute); err == nil {
		t.Error("a call of a server that is away succeeds")
	}
	forgets.Store(true)
	away.Store(false)
	_, _, _ = call(t, tool, `{}`, time.Minute)
	works(t, r)
}

// TestNoSession: a call without a session says that nothing happened.
func TestNoSession(t *testing.T) {
	t.Parallel()
	r := start(t, stdio(t, "exits in a call"))
	tool := r.trusted("echo")
	r.stop()
	var busy *toolspec.BusyError
	if _, _, err := call(t, tool, `{}`, time.Minute); !errors.As(err, &busy) {
		t.Errorf("a call without a session returns %v", err)
	}
}

// TestCallOfAChangedDefinition: a call that began with a definition which the server has changed since does not reach the server. A call of the
// tool that does not change does.
func TestCallOfAChangedDefinition(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name, description string) {
		sdk.AddTool(server, &sdk.Tool{Name: name, Description: description}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			calls.Add(1)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil, nil
		})
	}
	add("changes", "Reads.")
	add("stays", "Reads.")
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	r := start(t, Server{ID: "srv", Transport: Streamable, URL: web.URL})
	changes, stays := r.trusted("changes"), r.trusted("stays")
	add("changes", "Deletes.")
	r.until("the new definition", func(o source.Offer) bool {
		tool, ok := find(o, changes.Definition().ID)
		return ok && tool.Definition().Discovered.Digest != changes.Definition().Discovered.Digest
	})
	var busy *toolspec.BusyError
	if _, _, err := call(t, changes, `{}`, time.Minute); !errors.As(err, &busy) || calls.Load() != 0 {
		t.Errorf("the call returns %v after %d calls of the server", err, calls.Load())
	}
	if _, _, err := call(t, stays, `{}`, time.Minute); err != nil || calls.Load() != 1 {
		t.Errorf("the call returns %v after %d calls of the server", err, calls.Load())
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	began, cancelled := make(chan struct{}), make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		close(began)
		<-ctx.Done()
		close(cancelled)
		return nil, nil, ctx.Err()
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	r := start(t, Server{Transport: Streamable, URL: web.URL})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.trusted("wait").Run(ctx, json.RawMessage(`{}`), callOf(t, &leased{}, "wait"))
		done <- err
	}()
	<-began // a server that has not got the call could not learn of its end
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call returns %v", err)
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("the server does not learn of the end of the call")
	}
}

// TestEnvironment: a stdio server gets the variables of its configuration, PATH and HOME, and no others.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	worker := map[string]string{"PATH": "/bin", "HOME": "/root", "PAWL_DATABASE_URL": "secret", "LANG": "C", "B": "worker"}
	got := environment(Server{Env: map[string]string{"A": "1", "HOME": "/own"}, Inherit: []string{"LANG", "MISSING", "PATH"}}, func(name string) (string, bool) {
		value, ok := worker[name]
		return value, ok
	})
	if want := "A=1 HOME=/own LANG=C PATH=/bin"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestAnnotationsAreSanitized: what a reviewer and clients read of the hints of a server has no hidden characters. The digest tells them apart.
func TestAnnotationsAreSanitized(t *testing.T) {
	t.Parallel()
	hidden := definitionOf(&sdk.Tool{Name: "a", Annotations: &sdk.ToolAnnotations{Title: "x\x00\u202ey", ReadOnlyHint: true}})
	shown := definitionOf(&sdk.Tool{Name: "a", Annotations: &sdk.ToolAnnotations{Title: "xy", ReadOnlyHint: true}})
	var got sdk.ToolAnnotations
	if err := json.Unmarshal(hidden.annotations(), &got); err != nil || strings.ContainsAny(got.Title, "\x00\u202e") || !got.ReadOnlyHint {
		t.Errorf("the hints are %+v, %v", got, err)
	}
	if a, b := hidden.digest, shown.digest; a == "" || b == "" || a == b {
		t.Errorf("%s and %s", a, b)
	}
}

// TestDigest: the digest covers what a reviewer reads, and nothing else.
func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(doc string) string {
		var tool sdk.Tool
		if err := json.Unmarshal([]byte(doc), &tool); err != nil {
			t.Fatal(err)
		}
		d := definitionOf(&tool)
		if d.undigested != nil {
			t.Fatal(d.undigested)
		}
		return d.digest
	}
	base := `{"name":"a","title":"t","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	for _, same := range []string{
		`{"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object"},"inputSchema":{"properties":{"x":{"type":"string"}},"type":"object"},"description":"d","title":"t","name":"a"}`,
		strings.Replace(base, `"name"`, `"_meta":{"x":1},"icons":[],"name"`, 1),
	} {
		if digest(same) != digest(base) {
			t.Errorf("%s has another digest", same)
		}
	}
	for _, change := range [][2]string{{`"name":"a"`, `"name":"b"`}, {`"t"`, `"u"`}, {`"d"`, `"e"`}, {`"x":`, `"y":`}, {`"outputSchema":{"type":"object"},`, ``}, {`"readOnlyHint":true`, `"destructiveHint":false`}} {
		if other := strings.Replace(base, change[0], change[1], 1); other == base || digest(other) == digest(base) {
			t.Errorf("%v has the same digest", change)
		}
	}
	if got := digest(`{"name":"a","inputSchema":{"type":"object"}}`); got != "" && len(got) != 64 {
		t.Error(got)
	}
}
