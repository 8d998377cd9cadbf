package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestPublic: a tool without a connection reaches public hosts over https only, and no redirect takes it elsewhere.
func TestPublic(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte("hello"))
	})
	h.name("example.com", public)
	h.name("metadata.example.com", "169.254.169.254")
	h.name("mixed.example.com", public+" 10.0.0.1")
	f := h.fetcher(443)
	transport, ok := f.transport.(*http.Transport)
	if !ok {
		t.Fatalf("the transport is a %T", f.transport)
	}
	client := newPublic(f.guard, transport.TLSClientConfig).Client()
	for _, c := range []struct {
		method, url string
		status      int // 0 means capability.ErrNotPublic
	}{
		{"GET", "https://example.com/", 200},
		{"POST", "https://example.com/", 200},
		{"GET", "https://example.com/redirect?to=/x", 200},
		{"POST", "https://example.com/redirect?to=/x", 307},
		{"GET", "https://example.com/redirect?to=https://metadata.example.com/", 307},
		{"GET", "https://example.com/redirect?to=http://example.com/", 307},
		{"GET", "http://example.com/", 0},
		{"GET", "https://example.com:8443/", 0},
		{"GET", "https://metadata.example.com/", 0},
		{"GET", "https://mixed.example.com/", 0},
		{"GET", "https://127.0.0.2/", 0},
		{"GET", "https://[::1]/", 0},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		switch {
		case c.status == 0 && !errors.Is(err, capability.ErrNotPublic):
			t.Errorf("%s %s: %v", c.method, c.url, err)
		case c.status != 0 && (err != nil || resp.StatusCode != c.status):
			t.Errorf("%s %s: %v, %v", c.method, c.url, resp, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.arrived) > 0 {
		t.Errorf("connections to %v", h.arrived)
	}
	for _, headers := range h.headers {
		if headers.Get("Referer") != "" || headers.Get("Cookie") != "" || headers.Get("Authorization") != "" {
			t.Errorf("sent %v", headers)
		}
	}
}
