package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// refusing answers calls of tools in its own way as long as refuse says so, and the rest well.
func refusing(t *testing.T, refuse func(w http.ResponseWriter, r *http.Request, method string) bool) *httptest.Server {
	t.Helper()
	well := webServer(well)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m message
		_ = json.Unmarshal(body, &m)
		if !refuse(w, r, m.Method) {
			well.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestWorkerToken: the token of the worker is in the requests to the server, and in no other.
func TestWorkerToken(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	var without, with atomic.Int64
	server := refusing(t, func(w http.ResponseWriter, r *http.Request, method string) bool {
		if r.Header.Get("Authorization") != "Bearer "+testToken {
			without.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		with.Add(1)
		if method != callMethod {
			return false
		}
		http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		return true
	})
	r := start(t, Server{Transport: Streamable, URL: server.URL, TokenFrom: tokenVariable})
	tool := r.trusted("echo")
	if _, _, err := call(t, tool, `{}`, time.Minute); err == nil || strings.Contains(err.Error(), testToken) {
		t.Errorf("the redirected call returns %v", err)
	}
	if without.Load() > 0 || with.Load() == 0 || elsewhere.Load() > 0 {
		t.Errorf("%d requests had the token, %d had none, and %d went elsewhere", with.Load(), without.Load(), elsewhere.Load())
	}
	if strings.Contains(r.log.String(), testToken) {
		t.Error("the log has the token")
	}
	none := func(string) (string, bool) { return "", false }
	_, err := NewSource(Server{ID: "srv", Transport: Streamable, URL: server.URL, TokenFrom: "NONE"}, Options{Reviews: newReviews(), Log: slog.New(slog.DiscardHandler), Lookup: none})
	if err == nil || !strings.Contains(err.Error(), "NONE") {
		t.Errorf("without the variable, NewSource returns %v", err)
	}
}

// TestRefusedCalls: a server that refuses a call by its status has not run the tool. The call says so, and what it
// says has nothing of the server.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header string
		wait   time.Duration
		says   string
	}{
		"busy":               {http.StatusTooManyRequests, "7", 7 * time.Second, ""},
		"busy, says no time": {http.StatusTooManyRequests, "", busyTime, ""},
		"busy for a year":    {http.StatusTooManyRequests, "31536000", maxBusyTime, ""},
		"busy, in words":     {http.StatusTooManyRequests, "when I like", busyTime, ""},
		"unauthorized":       {http.StatusUnauthorized, "", 0, "does not accept the worker"},
		"forbidden":          {http.StatusForbidden, "", 0, "does not accept the worker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := refusing(t, func(w http.ResponseWriter, _ *http.Request, method string) bool {
				if method != callMethod || calls.Add(1) > 1 {
					return false
				}
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				http.Error(w, "words of the server", c.status)
				return true
			})
			r := start(t, Server{Transport: Streamable, URL: server.URL})
			tool := r.trusted("echo", func(r *policy.MCPReview) { r.Effect = toolspec.ExternalSideEffect })
			_, _, err := call(t, tool, `{}`, time.Minute)
			var busy *toolspec.BusyError
			var unanswered *toolspec.UnansweredError
			if errors.As(err, &unanswered) || strings.Contains(err.Error(), "words of the server") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the call returns %v", err)
			}
			if is := errors.As(err, &busy); is != (c.wait > 0) || is && (busy.After < c.wait || busy.After > c.wait+c.wait/4) {
				t.Errorf("the call returns %v, %+v", err, busy)
			}
			// The session goes on: one call more, and no other session.
			if out, _, err := call(t, tool, `{"text":"a"}`, time.Minute); err != nil || !strings.Contains(out, `"a"`) {
				t.Errorf("the next call returns %s, %v", out, err)
			}
		})
	}
}

// TestCallsOfAServerThatIsAway: calls do not try to reach a server without a session: only its source does, one attempt after the other. They
// come back apart from one another.
func TestCallsOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var away atomic.Bool
	server := refusing(t, func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method == callMethod {
			calls.Add(1)
		}
		if away.Load() {
			w.WriteHeader(http.StatusNotFound) // as for a session that is not known any more
		}
		return away.Load()
	})
	r := start(t, Server{Transport: Streamable, URL: server.URL})
	tool := r.trusted("echo")
	away.Store(true)
	_, _, _ = call(t, tool, `{}`, time.Minute) // ends the session
	r.until("a fault", func(o source.Offer) bool { return o.Fault != "" })
	pauses := map[time.Duration]bool{}
	for range 50 {
		_, _, err := call(t, tool, `{}`, time.Minute)
		var busy *toolspec.BusyError
		if !errors.As(err, &busy) {
			t.Fatalf("a call returns %v", err)
		}
		pauses[busy.After] = true
	}
	if n := calls.Load(); n != 1 || len(pauses) < 25 {
		t.Errorf("%d calls reached the server, and 50 have %d different pauses", n, len(pauses))
	}
}

// TestServersAwayRecoverApart: servers that come back together are not asked together, because the pauses of their
// sources have jitter, and a server that fails again and again is asked less and less.
func TestServersAwayRecoverApart(t *testing.T) {
	t.Parallel()
	pauses := timing{first: time.Second, most: time.Minute}
	for failures, most := range map[int]time.Duration{1: time.Second, 4: 8 * time.Second, breakAfter: time.Minute, breakAfter + 1: 5 * time.Minute, 1000: 5 * time.Minute} {
		seen := map[time.Duration]bool{}
		for range 100 {
			pause := pauses.pause(failures)
			if pause < most/2 || pause > most {
				t.Fatalf("after %d failures the pause is %s, want %s to %s", failures, pause, most/2, most)
			}
			seen[pause] = true
		}
		if len(seen) < 50 {
			t.Errorf("100 pauses after %d failures are %d different ones", failures, len(seen))
		}
	}
}

// TestFlappingServer: a server whose sessions end as soon as they begin keeps growing pauses: a session that starts
// does not close the circuit, one that lasts does.
func TestFlappingServer(t *testing.T) {
	t.Parallel()
	var starts atomic.Int64
	server := refusing(t, func(w http.ResponseWriter, _ *http.Request, method string) bool {
		switch method {
		case "initialize":
			starts.Add(1)
		case "tools/list":
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	r := start(t, Server{Transport: Streamable, URL: server.URL})
	devstacktest.Eventually(t.Context(), time.Minute, func() bool { return strings.Contains(r.log.String(), "attempts=8") })
	log := r.log.String()
	for _, want := range []string{"attempts=1 ", "attempts=2 ", "attempts=8 "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if n := starts.Load(); n < 8 || n > 30 {
		t.Errorf("%d sessions were started for 8 attempts", n)
	}
}
