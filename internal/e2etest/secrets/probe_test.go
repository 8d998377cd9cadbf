package secrets

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker/oauthtest"
	"github.com/pawl-run/pawl/internal/e2etest"
)

// TestProbeRefreshes: `pawl connections test` refreshes an expired token once, stores the new token for the workers, and records who did that. If it gets no
// token, it says so and makes no request to the service.
func TestProbeRefreshes(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), -time.Minute)
	v.AddOAuth("c2", s.Provider(), e2etest.Stale(auth), -time.Minute)
	for i, want := range []string{"the token had expired, and was refreshed\nthe service answered 200 OK\n", "the service answered 200 OK\n"} {
		if text, err := pawlCommand(w, "connections", "test", "c1"); err != nil || text != want {
			t.Errorf("%d: %v, %s", i, err, text)
		}
	}
	if n := len(auth.Requests()); n != 1 || s.Requests() != 2 {
		t.Errorf("%d requests for a token, %d of the service", n, s.Requests())
	}
	w.Secrets.Never("the token", []byte(s.Seen[0]))
	if by := e2etest.Scalar[string](w, `SELECT detail->>'version' || ' ' || (detail->>'by') FROM events WHERE kind = 'connection_refreshed'`); !strings.HasPrefix(by, "2 user:") {
		t.Errorf("the record says %s", by)
	}

	auth.Lock()
	auth.Instead = func(n int) *oauthtest.Answer {
		if n == 2 {
			return &oauthtest.Answer{Status: http.StatusServiceUnavailable, Body: `{"error":"canary"}`}
		}
		return &oauthtest.Answer{Status: http.StatusBadRequest, Body: `{"error":"invalid_grant","error_description":"canary"}`}
	}
	auth.Unlock()
	refused := func(want string) {
		t.Helper()
		if text, err := pawlCommand(w, "connections", "test", "c2"); err == nil || !strings.Contains(text, want) ||
			strings.Contains(text, "canary") {
			t.Errorf("%v, %s, want %q", err, text, want)
		}
	}
	refused("gave no new token a moment ago: try again later")
	// Extend the pause, so that it does not end on a slow machine.
	e2etest.Scalar[int](w, `UPDATE connections SET refresh_after = now() + interval '1 hour' WHERE connection_id = 'c2' AND refresh_after IS NOT NULL RETURNING 1`)
	refused("gave no new token a moment ago: try again later")
	e2etest.Scalar[int](w, `UPDATE connections SET refresh_after = NULL WHERE connection_id = 'c2' RETURNING 1`)
	refused("refuses a new token: sign in again")
	refused("c2 is needs_reauth: sign in again")
	if n := len(auth.Requests()); n != 3 || s.Requests() != 2 {
		t.Errorf("%d requests for a token, %d of the service", n, s.Requests())
	}
}
