package e2etest

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
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestOneRefresh: 200 calls on two workers meet a token that has ended, and there is one request for another (fault 53).
func TestOneRefresh(t *testing.T) {
	t.Parallel()
	const many = 200
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	v, s := newVault(w), newAPI(t, auth)
	v.addToken("c1", s.provider(), stale(auth), -time.Minute)
	// The first answer is not given before many want it; but who asks for a token gives up after ten seconds.
	auth.Instead = func(int) *oauthtest.Answer {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		eventually(ctx, func() bool {
			return scalar[int](w, `SELECT count(*)::int FROM invocations WHERE tenant_id = 'acme'`) >= many/4
		})
		return nil
	}
	tools := worker.Tools(tool("test__fast", fetchAt, connected, fast), tool("test__write", fetchAt, connected, idempotent))
	for range 2 {
		v.w.workWith(v.config(), tools)
	}
	var calls []*pawl.Call
	for i := range many {
		calls = append(calls, w.start(over(invocation(fmt.Sprint("call-", i), []string{"test__fast", "test__write"}[i%2], fmt.Sprintf(`{"text":"%s/%d"}`, s.URL, i)), "c1")))
	}
	for _, call := range calls {
		wantText(t, w.result(call), "200 welcome")
	}
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
	// A tool that may be repeated may come again on a busy machine, with the same token.
	s.mu.Lock()
	if tokens := slices.Compact(slices.Clone(s.seen)); len(s.paths) != many || len(tokens) != 1 {
		t.Errorf("%d calls have asked the service, in %d requests, with %d tokens", len(s.paths), len(s.seen), len(tokens))
	}
	s.mu.Unlock()
	if n := scalar[int](w, `SELECT count(*)::int FROM events WHERE kind = 'connection_refreshed'`); n != 1 {
		t.Errorf("%d refreshes are recorded", n)
	}
}

// TestKilledBetweenRefreshAndStore: a worker that dies with the new token in its hand leaves the old refresh token behind. Where the server
// takes that once more the call goes on; where it does not, somebody is to sign in anew, and the server is asked no more (fault 53).
func TestKilledBetweenRefreshAndStore(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]bool{"grace": true, "strict": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plainPolicy)
			auth := oauthtest.New(t)
			auth.Grace = grace
			v, s := newVault(w), newAPI(t, auth)
			v.addToken("c1", s.provider(), stale(auth), -time.Minute)
			held := make(chan func(), 1)
			auth.Rotated = func(n int) bool {
				if n == 1 {
					held <- w.holdConnection("c1")
				}
				return false
			}
			first := w.serveInChild("with connections")
			call := w.start(over(invocation("call", "test__read", fetchFrom(s)), "c1"))
			release := receive(t, held)
			w.killStoring(first)
			release()
			w.serveInChild("with connections")
			r := w.result(call)
			want := "active"
			if grace {
				wantText(t, r, "200 welcome")
			} else {
				wantCode(t, r, toolspec.CodeNeedsReauth)
				wantCode(t, w.invoke(over(invocation("another", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)
				want = "needs_reauth"
			}
			if got := scalar[string](w, `SELECT status FROM connections WHERE connection_id = 'c1'`); got != want {
				t.Errorf("the connection is %s", got)
			}
			if n := len(auth.Requests()); n != 2 {
				t.Errorf("%d requests for a token", n)
			}
		})
	}
}

// holdConnection keeps a connection from being changed until release, which ends what waited for it.
func (w *world) holdConnection(connectionID string) (release func()) {
	ctx := context.WithoutCancel(w.t.Context())
	conn, err := pgx.Connect(ctx, w.database)
	if err == nil {
		_, err = conn.Exec(ctx, `BEGIN`)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT FROM connections WHERE connection_id = $1 FOR UPDATE`, connectionID)
	}
	if err != nil {
		w.t.Error(err)
		return func() {}
	}
	return func() {
		// The statement of a worker that is dead would otherwise still be done.
		_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE `+storing)
		if err == nil {
			_, err = conn.Exec(ctx, `COMMIT`)
		}
		if err != nil {
			w.t.Error(err)
		}
		_ = conn.Close(ctx)
	}
}

// storing finds the worker that stores a token, and waits.
const storing = `datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%secret_version = secret_version + 1%'`

// killStoring kills a worker that has a new token and has not stored it.
func (w *world) killStoring(child *exec.Cmd) {
	w.t.Helper()
	w.until(func() bool { return scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity WHERE `+storing) == 1 }, "the token is to be stored")
	kill(child)
}

// TestTokenEndpointAway: while there is no new token calls wait, and the server is asked ever more seldom; then they go on. What has not
// ended yet is used meanwhile (fault 53).
func TestTokenEndpointAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
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
	v, s := newVault(w), newAPI(t, auth)
	v.addToken("c1", s.provider(), stale(auth), -time.Minute)
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected)))
	var calls []*pawl.Call
	for i := range 20 {
		calls = append(calls, w.start(over(invocation(fmt.Sprint("call-", i), "test__read", fetchFrom(s)), "c1")))
	}
	for _, call := range calls {
		if r := w.result(call); r.Attempts != 1 {
			t.Errorf("%d attempts", r.Attempts)
		} else {
			wantText(t, r, "200 welcome")
		}
	}
	if n := len(auth.Requests()); n != 3 {
		t.Errorf("%d requests for a token", n)
	}
	if got := query[string](w, `SELECT detail->>'error' FROM events WHERE kind = 'connection_refresh_failed' ORDER BY at`); !slices.Equal(got, []string{"http_503", "slow_down"}) {
		t.Errorf("the record says %q", got)
	}
}

// TestLostRefresh: the answer with a rotated token gets lost. A strict server refuses the old one, once.
func TestLostRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	auth.Rotated = func(n int) bool { return n == 1 }
	v, s := newVault(w), newAPI(t, auth)
	v.addToken("c1", s.provider(), stale(auth), -time.Minute)
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected)))
	wantCode(t, w.invoke(over(invocation("call", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)
	wantCode(t, w.invoke(over(invocation("another", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)
	if n := len(auth.Requests()); n != 2 || s.requests() != 0 {
		t.Errorf("%d requests for a token, %d of the service", n, s.requests())
	}
	if got := scalar[string](w, `SELECT detail->>'error' FROM events WHERE kind = 'connection_needs_reauth'`); got != "invalid_grant" {
		t.Errorf("the record says %q", got)
	}
}

// TestRefusedToken: a token that the service does not take any more is refreshed once, and the request sent once more (fault 53).
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	v, s := newVault(w), newAPI(t, auth)
	v.addToken("c1", s.provider(), stale(auth), time.Hour)
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected, fast)))
	inv := over(invocation("call", "test__read", fetchFrom(s)), "c1")
	r := w.invoke(inv)
	wantText(t, r, "200 welcome")
	// Each attempt asks twice at most; a busy machine may have made another one.
	first := s.requests()
	if n := len(auth.Requests()); n != 1 || first < 2 || first > 2*(r.Attempts+w.lostTasks(inv)) {
		t.Errorf("%d requests for a token, %d of the service in %d attempts", n, first, r.Attempts)
	}
	// What is new and refused all the same is the tool's to see.
	auth.Expire()
	inv = over(invocation("another", "test__read", fetchFrom(s)), "c1")
	if r = w.invoke(inv); !r.OK || !strings.Contains(string(r.Value), "401") {
		t.Errorf("got %+v", r)
	}
	if n, more := len(auth.Requests()), s.requests()-first; n != 1 || more < 1 || more > r.Attempts+w.lostTasks(inv) {
		t.Errorf("%d requests for a token, %d more of the service in %d attempts", n, more, r.Attempts)
	}
}

// TestTokenNearItsEnd: a token that still lasts is used, whether its refresh goes on behind the back of the call or has failed (fault 53).
func TestTokenNearItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
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
	v, s := newVault(w), newAPI(t, auth)
	access, refresh := auth.Token()
	v.addToken("c1", s.provider(), map[string]string{broker.FieldAccessToken: access, broker.FieldRefreshToken: refresh}, time.Hour)
	lasts := func(still string) {
		query[int](w, `UPDATE connection_secrets SET sealed_at = now() - interval '1 hour', expires_at = now() + $1::text::interval RETURNING 1`, still)
	}
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected, fast)))
	lasts("40 seconds")
	// came are the tokens that the requests of one call had; a busy machine may make its attempt again.
	came := func(id string) []string {
		t.Helper()
		before := s.requests()
		wantText(t, w.invoke(over(invocation(id, "test__read", fetchFrom(s)), "c1")), "200 welcome")
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Compact(slices.Clone(s.seen[before:]))
	}
	// Nobody waits for the answer.
	soon := came("soon")
	close(answered)
	w.until(func() bool {
		return scalar[int](w, `SELECT count(*)::int FROM connections WHERE refresh_after > now()`) == 1
	}, "the refresh has failed")
	lasts("9 seconds") // less than what is urgent
	cooling := came("cooling")
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
	query[int](w, `UPDATE connections SET refresh_after = now() - interval '1 second' RETURNING 1`)
	lasts("9 seconds")
	urgent := came("urgent")
	old := []string{access}
	if n := len(auth.Requests()); n != 2 || !slices.Equal(soon, old) || !slices.Equal(cooling, old) || len(urgent) != 1 || urgent[0] == access {
		t.Errorf("%d requests for a token; of the calls before the end %t and %t had the old one, and the last %d", n, slices.Equal(soon, old), slices.Equal(cooling, old), len(urgent))
	}
}

// TestSlowTokenEndpoint: a refresh that takes longer than any call waits goes on without them, and the next try finds its token.
func TestSlowTokenEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	auth.Instead = func(int) *oauthtest.Answer {
		eventually(t.Context(), func() bool { return strings.Contains(w.log.String(), "the tool is not provided with what it needs") })
		return nil
	}
	v, s := newVault(w), newAPI(t, auth)
	v.addToken("c1", s.provider(), stale(auth), -time.Minute)
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected, fast)))
	wantText(t, w.invoke(over(invocation("call", "test__read", fetchFrom(s)), "c1")), "200 welcome")
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
}

// TestClientCredentials: an application's own token is got when it is first wanted, and taken back at the end.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	v, s := newVault(w), newAPI(t, auth)
	p := s.provider()
	p.OAuth2.Flow, p.OAuth2.AuthURL = broker.ClientCredentials, ""
	v.addToken("c1", p, nil, time.Hour)
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected)))
	for i := range 2 {
		wantText(t, w.invoke(over(invocation(fmt.Sprint("call-", i), "test__read", fetchFrom(s)), "c1")), "200 welcome")
	}
	if asked := auth.Requests(); len(asked) != 1 || asked[0].Get("grant_type") != "client_credentials" {
		t.Errorf("the server was asked %d times", len(asked))
	}
	record, err := w.store.RevokeConnection(t.Context(), "acme", "c1", "e2etest")
	if err != nil {
		t.Fatal(err)
	}
	retired, err := broker.New(w.store, v.ring, broker.Options{}).Retire(t.Context(), record)
	if err != nil || retired != broker.RetiredThere {
		t.Errorf("retired: %s, %v", retired, err)
	}
	if auth.Valid(s.seen[0]) || len(auth.Revoked()) != 1 {
		t.Errorf("the token is good still, after %d requests", len(auth.Revoked()))
	}
	wantCode(t, w.invoke(over(invocation("late", "test__read", fetchFrom(s)), "c1")), toolspec.CodePolicyDenied)
}

// TestRevokedWhileRefreshing: a connection is revoked while a token for it is on the way. Who revokes has the old token only; what comes is
// taken back by who asked for it, and used by nobody.
func TestRevokedWhileRefreshing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	v, s := newVault(w), newAPI(t, auth)
	p := s.provider()
	p.OAuth2.Flow, p.OAuth2.AuthURL = broker.ClientCredentials, ""
	v.addToken("c1", p, nil, time.Hour)
	revoked := make(chan error, 16) // nobody may wait to say so
	auth.Rotated = func(int) bool {
		_, err := w.store.RevokeConnection(t.Context(), "acme", "c1", "e2etest")
		revoked <- err
		return false
	}
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected)))
	wantCode(t, w.invoke(over(invocation("call", "test__read", fetchFrom(s)), "c1")), toolspec.CodePolicyDenied)
	if err := receive(t, revoked); err != nil {
		t.Fatal(err)
	}
	w.until(func() bool { return len(auth.Revoked()) == 1 }, "the token that nobody wants is taken back")
	if token := auth.Revoked()[0].Get("token"); token == "" || auth.Valid(token) || s.requests() != 0 {
		t.Errorf("the token is good still: %t; the service was asked %d times", auth.Valid(token), s.requests())
	}
}
