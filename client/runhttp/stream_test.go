package runhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/toolspec"
)

// TestResume: a client that disconnects 50 times at any place, also between two parts of an event and between two messages, gets every
// part once.
func TestResume(t *testing.T) {
	t.Parallel()
	r := newRun()
	for n := range 8 {
		one, two := fmt.Sprintf("call-%d", 2*n), fmt.Sprintf("call-%d", 2*n+1)
		r.write(text("I look", "user:ann"), start(one), start(two), result(two), result(one), done())
	}
	server := serve(t, r, nil)
	var whole, pieces []string
	collect := func(into *[]string, atMost int) {
		last, finishes := "", 0
		for finishes < 8 {
			response := watch(t, server, "Last-Event-ID", last)
			scanner := bufio.NewScanner(response.Body)
			id, got := "", 0
			for scanner.Scan() && (atMost == 0 || got < atMost) {
				line := scanner.Text()
				if text, ok := strings.CutPrefix(line, "id: "); ok {
					id = text
				}
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok || data == "[DONE]" {
					continue
				}
				if strings.Contains(data, `"type":"start"`) {
					if len(*into) > 0 && (*into)[len(*into)-1] == data {
						continue // the connection broke right after it
					}
				} else {
					got++
					last = id
				}
				if strings.Contains(data, `"type":"finish"`) {
					finishes++
				}
				*into = append(*into, id+" "+data)
				if strings.Contains(data, `"type":"start"`) {
					(*into)[len(*into)-1] = data
				}
			}
			_ = response.Body.Close()
		}
	}
	collect(&whole, 0)
	for _, atMost := range []int{1, 2, 3} {
		pieces = nil
		collect(&pieces, atMost)
		if len(pieces) != len(whole) {
			t.Fatalf("%d parts at a time: %d parts, and %d at once", atMost, len(pieces), len(whole))
		}
		for n := range whole {
			if pieces[n] != whole[n] {
				t.Fatalf("%d parts at a time: part %d is %s, and at once it is %s", atMost, n, pieces[n], whole[n])
			}
		}
	}
	if n := strings.Count(strings.Join(whole, "\n"), `"type":"start"`); n != 8 || !strings.Contains(whole[len(whole)-1], "48 ") {
		t.Errorf("%d messages, the last part is %s", n, whole[len(whole)-1])
	}
}

// TestClosedOnEveryEnd (EV-07): whatever ends a stream early, its open call has an end, and the words of an error stay inside.
func TestClosedOnEveryEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token  string
		change func(*runhttp.Options)
		act    func(r *run)
		last   string
	}{
		"error of the watcher": {act: func(r *run) { r.set(func() { r.err = errors.New("canary") }) }, last: `"type":"error"`},
		"error of the lookup": {act: func(r *run) {
			r.set(func() { r.lost = errors.New("canary") })
			r.write(start("call-2"))
		}, last: `"type":"error"`},
		// Somebody else's call has joined the run.
		"call of another": {act: func(r *run) {
			r.set(func() { r.owner = "user:bob" })
			secret := start("call-2")
			secret.Args = json.RawMessage(`"canary"`)
			r.write(secret)
		}, last: `"type":"error"`},
		"text of another": {act: func(r *run) { r.write(text("canary", "user:bob")) }, last: `"type":"error"`},
		"text of nobody":  {act: func(r *run) { r.write(text("canary", "")) }, last: `"type":"error"`},
		"time is over":    {change: func(o *runhttp.Options) { o.MaxDuration = 50 * time.Millisecond }, last: `"type":"abort"`},
		"token expires":   {token: "short", last: `"type":"abort"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun()
			r.write(start("call-1"))
			server := serve(t, r, test.change)
			token := test.token
			if token == "" {
				token = "user:ann"
			}
			response := get(t, server, path, "Authorization", "Bearer "+token)
			lines := bufio.NewReader(response.Body)
			if test.act != nil {
				wantLine(t, lines, `"tool-input-available"`)
				test.act(r)
			}
			rest, err := io.ReadAll(lines)
			text := strings.TrimSpace(string(rest))
			if err != nil || strings.Contains(text, "canary") || !strings.HasSuffix(text, "data: [DONE]") ||
				strings.Count(text, `"type":"tool-output-error","toolCallId":"call-1"`) != 1 || !strings.Contains(text, test.last) {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// TestServerStops: streams end when the context of the server does, so that a shutdown need not wait for them.
func TestServerStops(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.write(start("call-1"))
	h, err := runhttp.New(runhttp.Options{Watcher: r, Owners: r, Authenticator: r})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(h)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(server.Close)
	lines := bufio.NewReader(watch(t, server).Body)
	wantLine(t, lines, `"tool-input-available"`)
	stop()
	wantLine(t, lines, `"tool-output-error"`)
	wantLine(t, lines, `"abort"`)
	wantLine(t, lines, `[DONE]`)
	r.wantNobody(t)
}

// TestHeartbeat: a silent stream gets comments.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	server := serve(t, newRun(), func(o *runhttp.Options) { o.Heartbeat = time.Millisecond })
	lines := bufio.NewReader(watch(t, server).Body)
	for range 3 {
		wantLine(t, lines, ": \n")
	}
}

// TestSilentHTTP2: HTTP/2 resets a stream at its write deadline, so a silent stream has none.
func TestSilentHTTP2(t *testing.T) {
	t.Parallel()
	r := newRun()
	h, err := runhttp.New(runhttp.Options{Watcher: r, Owners: r, Authenticator: r, WriteTimeout: time.Second, Heartbeat: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	lines := bufio.NewReader(watch(t, server).Body)
	wantLine(t, lines, `"start"`)
	wantLine(t, lines, ": \n")
	r.write(start("call-1"))
	wantLine(t, lines, `"tool-input-available"`)
}

// TestOneQuestionForAReplay: a client that connects again makes the handler ask for its right once, however many calls the run has, and
// once more for each later call.
func TestOneQuestionForAReplay(t *testing.T) {
	t.Parallel()
	r := newRun()
	for n := range 40 {
		r.write(start(fmt.Sprint("call-", n)), result(fmt.Sprint("call-", n)))
	}
	lines := bufio.NewReader(watch(t, serve(t, r, nil)).Body)
	wantLine(t, lines, `"tool-output-available","toolCallId":"call-39"`)
	r.write(start("late"), result("late"))
	wantLine(t, lines, `"tool-output-available","toolCallId":"late"`)
	r.set(func() {
		if r.asked != 2 {
			t.Errorf("%d questions", r.asked)
		}
	})
}

// cut is a Watcher that yields only the first event of a run.
type cut struct{ *run }

func (c cut) Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error] {
	return func(yield func(toolspec.RunEvent, error) bool) {
		for e, err := range c.run.Watch(ctx, tenantID, runID, after) {
			if yield(e, err) {
				yield(toolspec.RunEvent{}, errors.New("canary"))
			}
			return
		}
	}
}

// TestCutReplay: a client that has read the result of a call gets no error for the call, if its next stream ends before that result.
func TestCutReplay(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.write(start("call-1"), result("call-1"))
	server := serve(t, r, func(o *runhttp.Options) { o.Watcher = cut{r} })
	for last, errs := range map[string]int{"": 1, "1": 1, "2": 0} {
		got := body(t, watch(t, server, "Last-Event-ID", last))
		if strings.Count(got, "tool-output-error") != errs || strings.Count(got, `"type":"error"`) != 1 || !strings.Contains(got, "[DONE]") {
			t.Errorf("after %q: %s", last, got)
		}
	}
}

// TestServerTimeouts: the timeouts of a server are for requests, and do not end a stream.
func TestServerTimeouts(t *testing.T) {
	t.Parallel()
	r := newRun()
	h, err := runhttp.New(runhttp.Options{Watcher: r, Owners: r, Authenticator: r, Heartbeat: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	lines := bufio.NewReader(watch(t, server).Body)
	for range 20 {
		wantLine(t, lines, ": \n")
	}
	r.write(done())
	wantLine(t, lines, "[DONE]")
}

// TestSlowReader: a client that does not read loses its connection and its place.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := newRun()
	large := result("call-1")
	large.Result.Value = json.RawMessage(`"` + strings.Repeat("x", 60<<10) + `"`)
	const events = 2000
	for n := range events {
		e := large
		e.ToolCallID = fmt.Sprintf("call-%d", n)
		e.InvocationID = "inv-1"
		r.write(e)
	}
	server := serve(t, r, func(o *runhttp.Options) { o.WriteTimeout = 100 * time.Millisecond; o.MaxStreamsOfViewer = 1 })
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer user:ann\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.watching == 1
	})
	r.wantNobody(t)
	until(t, func() bool {
		again := get(t, server, path, "Authorization", "Bearer user:ann")
		_ = again.Body.Close()
		return again.StatusCode == http.StatusOK
	})
}

// TestHiddenDeadlines: behind a ResponseWriter without deadlines there is no stream, rather than streams that never end.
func TestHiddenDeadlines(t *testing.T) {
	t.Parallel()
	r := newRun()
	h, err := runhttp.New(runhttp.Options{Watcher: r, Owners: r, Authenticator: r})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	request.Header.Set("Authorization", "Bearer user:ann")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	if recorder.Code != 500 || !strings.Contains(recorder.Body.String(), `"internal"`) {
		t.Errorf("status %d: %s", recorder.Code, recorder.Body)
	}
}
