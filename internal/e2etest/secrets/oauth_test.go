package secrets

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/oauthtest"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestOneRefresh: 200 calls on two workers need a token that has expired, and the workers make one request for a new token (fault 53).
func TestOneRefresh(t *testing.T) {
	t.Parallel()
	const many = 60
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), -time.Minute)
	// The first answer waits until many calls need the token, for at most four seconds, because a worker gives up its request after ten seconds.
	auth.Instead = func(int) *oauthtest.Answer {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		e2etest.Eventually(ctx, func() bool {
			return e2etest.Scalar[int](w, `SELECT count(*)::int FROM invocations WHERE tenant_id = 'acme'`) >= many/4
		})
		return nil
	}
	tools := worker.Tools(e2etest.Tool("test__fast", e2etest.FetchAt, e2etest.Connected, e2etest.Fast),
		e2etest.Tool("test__write", e2etest.FetchAt, e2etest.Connected, e2etest.Idempotent))
	for range 2 {
		v.W.WorkWith(v.Config(), tools)
	}
	var calls []*pawl.Call
	for i := range many {
		calls = append(calls, w.Start(e2etest.Over(e2etest.Invocation(fmt.Sprint("call-", i), []string{"test__fast", "test__write"}[i%2],
			fmt.Sprintf(`{"text":"%s/%d"}`, s.URL, i)), "c1")))
	}
	for _, call := range calls {
		e2etest.WantText(t, w.Result(call), "200 welcome")
	}
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
	// On a busy machine a tool that may be repeated may run again, with the same token.
	s.Mu.Lock()
	if tokens := slices.Compact(slices.Clone(s.Seen)); len(s.Paths) != many || len(tokens) != 1 {
		t.Errorf("%d calls have asked the service, in %d requests, with %d tokens", len(s.Paths), len(s.Seen), len(tokens))
	}
	s.Mu.Unlock()
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM events WHERE kind = 'connection_refreshed'`); n != 1 {
		t.Errorf("%d refreshes are recorded", n)
	}
}

// TestKilledBetweenRefreshAndStore: a worker is killed after it has got a new token and before it has stored it, so the database has the old refresh token. If
// the authorization server accepts the old one again, the call goes on. If not, a person must sign in again, and the server gets no more requests (fault 53).
func TestKilledBetweenRefreshAndStore(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]bool{"grace": true, "strict": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, e2etest.PlainPolicy)
			auth := oauthtest.New(t)
			auth.Grace = grace
			v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
			v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), -time.Minute)
			held := make(chan func(), 1)
			auth.Rotated = func(n int) bool {
				if n == 1 {
					held <- holdConnection(w, "c1")
				}
				return false
			}
			first := w.ServeInChild()
			call := w.Start(e2etest.Over(e2etest.Invocation("call", "test__read", fetchFrom(s)), "c1"))
			release := e2etest.Receive(t, held)
			killStoring(w, first)
			release()
			// The dead worker's claim of the refresh ends, without the time that this takes.
			e2etest.Query[int](w, `UPDATE connections SET refresh_until = now() WHERE connection_id = 'c1' RETURNING 1`)
			w.ServeInChild()
			r := w.Result(call)
			want := "active"
			if grace {
				e2etest.WantText(t, r, "200 welcome")
			} else {
				e2etest.WantCode(t, r, toolspec.CodeNeedsReauth)
				e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("another", "test__read", fetchFrom(s)), "c1")),
					toolspec.CodeNeedsReauth)
				want = "needs_reauth"
			}
			if got := e2etest.Scalar[string](w, `SELECT status FROM connections WHERE connection_id = 'c1'`); got != want {
				t.Errorf("the connection is %s", got)
			}
			if n := len(auth.Requests()); n != 2 {
				t.Errorf("%d requests for a token", n)
			}
		})
	}
}

// holdConnection locks the row of a connection until release is called. release also ends the session of the worker that waits for the row.
func holdConnection(w *e2etest.World, connectionID string) (release func()) {
	ctx := context.WithoutCancel(w.T.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err == nil {
		_, err = conn.Exec(ctx, `BEGIN`)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT FROM connections WHERE connection_id = $1 FOR UPDATE`, connectionID)
	}
	if err != nil {
		w.T.Error(err)
		return func() {}
	}
	return func() {
		// Without this, the waiting statement of the dead worker would still be executed.
		_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE `+storing)
		if err == nil {
			_, err = conn.Exec(ctx, `COMMIT`)
		}
		if err != nil {
			w.T.Error(err)
		}
		_ = conn.Close(ctx)
	}
}

// storing is an SQL condition for the session of a worker that waits to store a token.
const storing = `datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%secret_version = secret_version + 1%'`

// killStoring kills a worker when it has a new token and has not stored it.
func killStoring(w *e2etest.World, child *exec.Cmd) {
	w.T.Helper()
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity WHERE `+storing) == 1
	}, "the token is to be stored")
	e2etest.Kill(child)
}

// TestTokenEndpointAway: while the authorization server gives no new token, calls wait, with growing pauses between the requests to the server. When it gives
// one, the calls go on. A token that has not expired yet is used in the meantime (fault 53).
func TestTokenEndpointAway(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	auth.Instead = func(n int) *oauthtest.Answer {
		switch n {
		case 1:
			return &oauthtest.Answer{Status: http.StatusServiceUnavailable, Body: "<html>"}
		case 2:
			return &oauthtest.Answer{Status: http.StatusTooManyRequests, Body: `{"error":"slow_down"}`, RetryAfter: "3"}
		}
		return nil
	}
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), -time.Minute)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected)))
	var calls []*pawl.Call
	for i := range 20 {
		calls = append(calls, w.Start(e2etest.Over(e2etest.Invocation(fmt.Sprint("call-", i), "test__read", fetchFrom(s)), "c1")))
	}
	for _, call := range calls {
		if r := w.Result(call); r.Attempts != 1 {
			t.Errorf("%d attempts", r.Attempts)
		} else {
			e2etest.WantText(t, r, "200 welcome")
		}
	}
	if n := len(auth.Requests()); n != 3 {
		t.Errorf("%d requests for a token", n)
	}
	if got := e2etest.Query[string](w, `SELECT detail->>'error' FROM events WHERE kind = 'connection_refresh_failed' ORDER BY at`); !slices.Equal(got, []string{"http_503", "slow_down"}) {
		t.Errorf("the record says %q", got)
	}
}

// TestLostRefresh: the answer with a rotated refresh token is lost. A strict server refuses the old token, and is asked only once.
func TestLostRefresh(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	auth.Rotated = func(n int) bool { return n == 1 }
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), -time.Minute)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected)))
	e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("call", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)
	e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("another", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)
	if n := len(auth.Requests()); n != 2 || s.Requests() != 0 {
		t.Errorf("%d requests for a token, %d of the service", n, s.Requests())
	}
	if got := e2etest.Scalar[string](w, `SELECT detail->>'error' FROM events WHERE kind = 'connection_needs_reauth'`); got != "invalid_grant" {
		t.Errorf("the record says %q", got)
	}
}

// TestRefusedToken: if the service refuses a token, the token is refreshed once, and the request is sent once more (fault 53).
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), time.Hour)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected, e2etest.Fast)))
	inv := e2etest.Over(e2etest.Invocation("call", "test__read", fetchFrom(s)), "c1")
	r := w.Invoke(inv)
	e2etest.WantText(t, r, "200 welcome")
	// Each attempt makes at most two requests. On a busy machine there may be another attempt.
	first := s.Requests()
	if n := len(auth.Requests()); n != 1 || first < 2 || first > 2*(r.Attempts+w.LostTasks(inv)) {
		t.Errorf("%d requests for a token, %d of the service in %d attempts", n, first, r.Attempts)
	}
	// If the service refuses a new token, the tool gets its answer.
	auth.Expire()
	inv = e2etest.Over(e2etest.Invocation("another", "test__read", fetchFrom(s)), "c1")
	if r = w.Invoke(inv); !r.OK || !strings.Contains(string(r.Value), "401") {
		t.Errorf("got %+v", r)
	}
	if n, more := len(auth.Requests()), s.Requests()-first; n != 1 || more < 1 || more > r.Attempts+w.LostTasks(inv) {
		t.Errorf("%d requests for a token, %d more of the service in %d attempts", n, more, r.Attempts)
	}
}

// TestTokenNearItsEnd: a token that expires soon is still used, while its refresh runs in the background and after that refresh has failed (fault 53).
func TestTokenNearItsEnd(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	answered := make(chan struct{})
	auth.Instead = func(n int) *oauthtest.Answer {
		if n == 1 {
			select {
			case <-answered:
			case <-t.Context().Done(): // the test has failed
			}
			return &oauthtest.Answer{Status: http.StatusInternalServerError, RetryAfter: "600"}
		}
		return nil
	}
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	access, refresh := auth.Token()
	v.AddOAuth("c1", s.Provider(), map[string]string{broker.FieldAccessToken: access, broker.FieldRefreshToken: refresh}, time.Hour)
	lasts := func(still string) {
		e2etest.Query[int](w, `UPDATE connection_secrets SET sealed_at = now() - interval '1 hour', expires_at = now() + $1::text::interval RETURNING 1`, still)
	}
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected, e2etest.Fast)))
	lasts("40 seconds")
	// came makes a call and returns the tokens of its requests. On a busy machine its attempt may run again.
	came := func(id string) []string {
		t.Helper()
		before := s.Requests()
		e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation(id, "test__read", fetchFrom(s)), "c1")), "200 welcome")
		s.Mu.Lock()
		defer s.Mu.Unlock()
		return slices.Compact(slices.Clone(s.Seen[before:]))
	}
	// The call does not wait for the answer to the refresh.
	soon := came("soon")
	close(answered)
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM connections WHERE refresh_after > now()`) == 1
	}, "the refresh has failed")
	lasts("9 seconds") // so short that a refresh is urgent
	cooling := came("cooling")
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
	e2etest.Query[int](w, `UPDATE connections SET refresh_after = now() - interval '1 second' RETURNING 1`)
	lasts("9 seconds")
	urgent := came("urgent")
	old := []string{access}
	if n := len(auth.Requests()); n != 2 || !slices.Equal(soon, old) || !slices.Equal(cooling, old) || len(urgent) != 1 || urgent[0] == access {
		t.Errorf("%d requests for a token; of the calls before the end %t and %t had the old one, and the last %d", n, slices.Equal(soon, old),
			slices.Equal(cooling, old), len(urgent))
	}
}

// TestSlowTokenEndpoint: a refresh that takes longer than a call waits goes on without the call, and the next try of the call finds the new token.
func TestSlowTokenEndpoint(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	auth.Instead = func(int) *oauthtest.Answer {
		e2etest.Eventually(t.Context(), func() bool { return strings.Contains(w.Log.String(), "the token of connection c1 has ended") })
		return nil
	}
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", s.Provider(), e2etest.Stale(auth), -time.Minute)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected, e2etest.Fast)))
	e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation("call", "test__read", fetchFrom(s)), "c1")), "200 welcome")
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
}

// TestClientCredentials: the token of an application itself is requested when a call first needs it, and is revoked with the connection.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	p := s.Provider()
	p.OAuth2.Flow, p.OAuth2.AuthURL = broker.ClientCredentials, ""
	v.AddOAuth("c1", p, nil, time.Hour)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected)))
	for i := range 2 {
		e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation(fmt.Sprint("call-", i), "test__read", fetchFrom(s)), "c1")), "200 welcome")
	}
	if asked := auth.Requests(); len(asked) != 1 || asked[0].Get("grant_type") != "client_credentials" {
		t.Errorf("the server was asked %d times", len(asked))
	}
	record, err := w.Store.RevokeConnection(t.Context(), "acme", "c1", "e2etest")
	if err != nil {
		t.Fatal(err)
	}
	retired, err := broker.New(w.Store, v.Ring, broker.Options{}).Retire(t.Context(), record)
	if err != nil || retired != broker.RetiredThere {
		t.Errorf("retired: %s, %v", retired, err)
	}
	if auth.Valid(s.Seen[0]) || len(auth.Revoked()) != 1 {
		t.Errorf("the token is good still, after %d requests", len(auth.Revoked()))
	}
	e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("late", "test__read", fetchFrom(s)), "c1")), toolspec.CodePolicyDenied)
}

// TestRevokedWhileRefreshing: a connection is revoked while a new token for it is requested. The revocation knows only the old token. The worker that gets the
// new token revokes it, and no call uses it.
func TestRevokedWhileRefreshing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	p := s.Provider()
	p.OAuth2.Flow, p.OAuth2.AuthURL = broker.ClientCredentials, ""
	v.AddOAuth("c1", p, nil, time.Hour)
	revoked := make(chan error, 16) // so large that a send never blocks
	auth.Rotated = func(int) bool {
		_, err := w.Store.RevokeConnection(t.Context(), "acme", "c1", "e2etest")
		revoked <- err
		return false
	}
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected)))
	e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("call", "test__read", fetchFrom(s)), "c1")), toolspec.CodePolicyDenied)
	if err := e2etest.Receive(t, revoked); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return len(auth.Revoked()) == 1 }, "the token that nobody wants is taken back")
	if token := auth.Revoked()[0].Get("token"); token == "" || auth.Valid(token) || s.Requests() != 0 {
		t.Errorf("the token is good still: %t; the service was asked %d times", auth.Valid(token), s.Requests())
	}
}

// fetchFrom returns the arguments of a call of FetchAt.
func fetchFrom(s *e2etest.API) string { return fmt.Sprintf(`{"text":%q}`, s.URL) }
