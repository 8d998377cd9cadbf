package runhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/toolspec"
)

// waitTimeout is how long a test waits for what should take a moment.
const waitTimeout = time.Minute

// run is a run whose events a test writes. It implements Watcher and Owners.
type run struct {
	mu     sync.Mutex
	events []toolspec.RunEvent
	more   chan struct{}
	err    error
	owner  string
	lost   error
	// watching is the number of calls of Watch that have not ended, and asked that of OwnsRun.
	watching, asked int
}

func newRun() *run { return &run{more: make(chan struct{}), owner: "user:ann"} }

func (r *run) write(events ...toolspec.RunEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		e.Seq = int64(len(r.events) + 1)
		r.events = append(r.events, e)
	}
	close(r.more)
	r.more = make(chan struct{})
}

func (r *run) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.more)
	r.more = make(chan struct{})
}

func (r *run) Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error] {
	return func(yield func(toolspec.RunEvent, error) bool) {
		r.set(func() { r.watching++ })
		defer r.set(func() { r.watching-- })
		for {
			r.mu.Lock()
			events, err, more := r.events, r.err, r.more
			r.mu.Unlock()
			for ; int(after) < len(events); after++ {
				if !yield(events[after], nil) {
					return
				}
			}
			if err != nil {
				yield(toolspec.RunEvent{}, err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
		}
	}
}

func (r *run) OwnsRun(_ context.Context, tenantID, runID, identity string, _ int64) (int64, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return int64(len(r.events)), tenantID == "acme" && runID == "run-1" && identity == r.owner, r.lost
}

func (r *run) Authenticate(_ context.Context, tenantID, token string) (runhttp.Viewer, error) {
	switch {
	case token == "away":
		return runhttp.Viewer{}, errors.New("canary: the issuer is away")
	case token == "short":
		return runhttp.Viewer{Identity: "user:ann", Expires: time.Now().Add(50 * time.Millisecond)}, nil
	case tenantID != "acme" || !strings.HasPrefix(token, "user:"):
		return runhttp.Viewer{}, fmt.Errorf("canary: %w", runhttp.ErrUnauthenticated)
	}
	return runhttp.Viewer{Identity: token}, nil
}

func serve(t *testing.T, r *run, change func(*runhttp.Options)) *httptest.Server {
	t.Helper()
	o := runhttp.Options{Watcher: r, Owners: r, Authenticator: r, Origins: []string{"https://app.example.com"}, WriteTimeout: waitTimeout}
	if change != nil {
		change(&o)
	}
	h, err := runhttp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	server.Client().Timeout = waitTimeout
	t.Cleanup(server.Close)
	t.Cleanup(func() { r.wantNobody(t) })
	t.Cleanup(server.CloseClientConnections)
	return server
}

func (r *run) wantNobody(t *testing.T) {
	t.Helper()
	deadline := time.After(waitTimeout)
	for {
		r.mu.Lock()
		n, more := r.watching, r.more
		r.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Errorf("%d readers of events go on after their streams", n)
			return
		}
	}
}

const path = "/v1/runs/run-1/events?tenant=acme"

// reply is a response, whose body is closed at the end of the test.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.ReadCloser
}

func get(t *testing.T, server *httptest.Server, where string, header ...string) *reply {
	t.Helper()
	return do(t, server, http.MethodGet, where, header...)
}

func do(t *testing.T, server *httptest.Server, method, where string, header ...string) *reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+where, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(header); n += 2 {
		r.Header.Add(header[n], header[n+1])
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() }) // a test may have closed it
	return &reply{response.StatusCode, response.Header, response.Body}
}

func watch(t *testing.T, server *httptest.Server, header ...string) *reply {
	t.Helper()
	response := get(t, server, path, append([]string{"Authorization", "Bearer user:ann"}, header...)...)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", response.StatusCode, body(t, response))
	}
	return response
}

func body(t *testing.T, response *reply) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func start(id string) toolspec.RunEvent {
	return toolspec.RunEvent{Kind: toolspec.RunCallStart, ToolCallID: id, InvocationID: "inv-" + id, ToolID: "core__ls", Args: json.RawMessage(`{}`)}
}

func result(id string) toolspec.RunEvent {
	return toolspec.RunEvent{Kind: toolspec.RunCallResult, ToolCallID: id, InvocationID: "inv-" + id, ToolID: "core__ls", Result: &toolspec.Result{OK: true, Value: json.RawMessage(`"found"`)}}
}

func text(words, owner string) toolspec.RunEvent {
	return toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: words, OwnerID: owner}
}

func done() toolspec.RunEvent { return toolspec.RunEvent{Kind: toolspec.RunDone} }

// TestStream: events arrive as they happen, and the stream ends with the message.
func TestStream(t *testing.T) {
	t.Parallel()
	r := newRun()
	response := watch(t, serve(t, r, nil))
	for field, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "X-Vercel-Ai-Ui-Message-Stream": "v1", "Cache-Control": "no-store",
		"X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff", "Vary": "Origin",
	} {
		if got := response.Header.Get(field); got != want {
			t.Errorf("%s is %q", field, got)
		}
	}
	lines := bufio.NewReader(response.Body)
	wantLine(t, lines, `"start"`)
	r.write(start("call-1"))
	wantLine(t, lines, `"tool-input-available"`)
	r.write(result("call-1"))
	wantLine(t, lines, `"tool-output-available"`)
	r.write(done())
	wantLine(t, lines, `"finish"`)
	wantLine(t, lines, `[DONE]`)
	if rest, err := io.ReadAll(lines); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// wantLine reads until a line has some words.
func wantLine(t *testing.T, lines *bufio.Reader, words string) {
	t.Helper()
	var before strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, words) {
			return
		}
		before.WriteString(line)
		if err != nil {
			t.Fatalf("no line with %s: %v\n%s", words, err, before.String())
		}
	}
}

// TestRefusals: what is no stream is JSON with a code, and says nothing of runs that are not the viewer's.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := serve(t, newRun(), nil)
	const ann, bob = "Bearer user:ann", "Bearer user:bob"
	for name, test := range map[string]struct {
		method, path string
		header       []string
		status       int
		code         toolspec.Code
	}{
		"no token":            {"GET", path, nil, 401, toolspec.CodeNeedsReauth},
		"token in the URL":    {"GET", path + "&access_token=user:ann&token=user:ann", nil, 401, toolspec.CodeNeedsReauth},
		"two tokens":          {"GET", path, []string{"Authorization", ann, "Authorization", bob}, 401, toolspec.CodeNeedsReauth},
		"another scheme":      {"GET", path, []string{"Authorization", "Basic user:ann"}, 401, toolspec.CodeNeedsReauth},
		"no such token":       {"GET", path, []string{"Authorization", "Bearer canary"}, 401, toolspec.CodeNeedsReauth},
		"long token":          {"GET", path, []string{"Authorization", "Bearer user:" + strings.Repeat("a", 16<<10)}, 401, toolspec.CodeNeedsReauth},
		"other tenant":        {"GET", "/v1/runs/run-1/events?tenant=globex", []string{"Authorization", ann}, 401, toolspec.CodeNeedsReauth},
		"issuer away":         {"GET", path, []string{"Authorization", "Bearer away"}, 503, toolspec.CodeCapacity},
		"run of another":      {"GET", path, []string{"Authorization", bob}, 404, toolspec.CodeUnavailable},
		"no such run":         {"GET", "/v1/runs/run-2/events?tenant=acme", []string{"Authorization", ann}, 404, toolspec.CodeUnavailable},
		"no tenant":           {"GET", "/v1/runs/run-1/events", []string{"Authorization", ann}, 422, toolspec.CodeValidation},
		"two tenants":         {"GET", path + "&tenant=globex", []string{"Authorization", ann}, 422, toolspec.CodeValidation},
		"no name of a tenant": {"GET", "/v1/runs/run-1/events?tenant=a%00b", []string{"Authorization", ann}, 422, toolspec.CodeValidation},
		"no name of a run":    {"GET", "/v1/runs/run%2f1/events?tenant=acme", []string{"Authorization", ann}, 422, toolspec.CodeValidation},
		"no position":         {"GET", path, []string{"Authorization", ann, "Last-Event-ID", "canary"}, 422, toolspec.CodeValidation},
		"another method":      {"POST", path, []string{"Authorization", ann}, 405, toolspec.CodeValidation},
		"another page":        {"GET", path, []string{"Authorization", ann, "Origin", "https://app.example.com.evil.test"}, 403, toolspec.CodeAuthzDenied},
		"a page of no origin": {"GET", path, []string{"Authorization", ann, "Origin", "null"}, 403, toolspec.CodeAuthzDenied},
	} {
		response := do(t, server, test.method, test.path, test.header...)
		text := body(t, response)
		var got runhttp.Refusal
		if err := json.Unmarshal([]byte(text), &got); err != nil || response.StatusCode != test.status || got.ErrorCode != test.code || got.SafeMessage == "" {
			t.Errorf("%s: status %d, %s", name, response.StatusCode, text)
		}
		if strings.Contains(text, "canary") || response.Header.Get("Cache-Control") != "no-store" || response.Header.Get("Content-Type") != "application/json" ||
			(response.StatusCode == http.StatusUnauthorized) != (response.Header.Get("WWW-Authenticate") != "") || response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %s with %v", name, text, response.Header)
		}
	}
	foreign := body(t, get(t, server, path, "Authorization", bob))
	missing := body(t, get(t, server, "/v1/runs/run-2/events?tenant=acme", "Authorization", bob))
	if foreign != missing {
		t.Errorf("a run of another actor answers %s, and a run that does not exist %s", foreign, missing)
	}
}

// TestOrigins: a page of the list may ask and read.
func TestOrigins(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.write(done())
	server := serve(t, r, nil)
	const origin = "https://app.example.com"
	asked := do(t, server, http.MethodOptions, path, "Origin", origin, "Access-Control-Request-Method", "GET")
	if asked.StatusCode != http.StatusNoContent || asked.Header.Get("Access-Control-Allow-Origin") != origin || asked.Header.Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Last-Event-ID" ||
		asked.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("status %d with %v", asked.StatusCode, asked.Header)
	}
	if read := watch(t, server, "Origin", origin); read.Header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(body(t, read), "finish") {
		t.Errorf("the page gets %v", read.Header)
	}
	if own := watch(t, server, "Origin", server.URL); own.StatusCode != http.StatusOK || !strings.Contains(body(t, own), "finish") {
		t.Errorf("a page of the handler's own origin gets %d", own.StatusCode)
	}
	if refused := do(t, server, http.MethodOptions, path, "Origin", "https://evil.test"); refused.StatusCode != http.StatusForbidden {
		t.Errorf("another page gets %d", refused.StatusCode)
	}
}

// TestLimits: a viewer has some streams at a time, and a place is free again when a stream has ended.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRun()
	server := serve(t, r, func(o *runhttp.Options) { o.MaxStreams, o.MaxStreamsOfViewer = 3, 2 })
	first, second := watch(t, server), watch(t, server)
	refused := get(t, server, path, "Authorization", "Bearer user:ann")
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" || !strings.Contains(body(t, refused), `"rate_limited"`) {
		t.Errorf("a third stream: %d", refused.StatusCode)
	}
	r.set(func() { r.owner = "user:bob" })
	third := get(t, server, path, "Authorization", "Bearer user:bob")
	if third.StatusCode != http.StatusOK {
		t.Errorf("another viewer: %d", third.StatusCode)
	}
	if full := get(t, server, path, "Authorization", "Bearer user:carl"); full.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a fourth stream: %d", full.StatusCode)
	}
	r.set(func() { r.owner = "user:ann" })
	for _, response := range []*reply{first, second, third} {
		_ = response.Body.Close()
	}
	r.wantNobody(t)
	until(t, func() bool {
		again := get(t, server, path, "Authorization", "Bearer user:ann")
		defer func() { _ = again.Body.Close() }()
		return again.StatusCode == http.StatusOK
	})
}

// until waits for a condition.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	tick, timeout := time.NewTicker(time.Millisecond), time.NewTimer(waitTimeout)
	defer tick.Stop()
	defer timeout.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout.C:
			t.Fatal("it does not happen")
		}
	}
}

// TestOptions: what cannot work is refused at the start.
func TestOptions(t *testing.T) {
	t.Parallel()
	r := newRun()
	for name, o := range map[string]runhttp.Options{
		"nothing":         {},
		"no lookup":       {Watcher: r, Authenticator: r},
		"no origin":       {Watcher: r, Owners: r, Authenticator: r, Origins: []string{"https://app.example.com/"}},
		"a default port":  {Watcher: r, Owners: r, Authenticator: r, Origins: []string{"https://app.example.com:443"}},
		"an empty port":   {Watcher: r, Owners: r, Authenticator: r, Origins: []string{"https://app.example.com:"}},
		"upper case":      {Watcher: r, Owners: r, Authenticator: r, Origins: []string{"https://App.example.com"}},
		"no ASCII":        {Watcher: r, Owners: r, Authenticator: r, Origins: []string{"https://bücher.example"}},
		"any origin":      {Watcher: r, Owners: r, Authenticator: r, Origins: []string{"*"}},
		"negative limits": {Watcher: r, Owners: r, Authenticator: r, MaxStreams: -1},
	} {
		if _, err := runhttp.New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
