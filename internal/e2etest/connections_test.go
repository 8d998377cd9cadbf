package e2etest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// service is somebody's API, on a loopback address, which takes a bearer token.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	token string
	// seen are the values of Authorization, in order.
	seen []string
	// hold, if set, delays answers until it is closed; entered tells of each.
	hold, entered chan struct{}
}

func newService(t *testing.T, token string) *service {
	t.Helper()
	s := &service{token: token, entered: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	got, want, hold := r.Header.Get("Authorization"), "Bearer "+s.token, s.hold
	s.seen = append(s.seen, got)
	s.mu.Unlock()
	s.entered <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	if got != want {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	_, _ = fmt.Fprint(w, "welcome")
}

func (s *service) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// provider describes it.
func (s *service) provider() broker.Provider {
	u, _ := url.Parse(s.URL)
	return broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{u.Host}, Insecure: true}
}

// vault seals for a world, and knows the file of its key ring.
type vault struct {
	w    *world
	ring *seal.Ring
	file string
}

func newVault(w *world) *vault {
	w.t.Helper()
	ring, err := seal.New()
	if err != nil {
		w.t.Fatal(err)
	}
	v := &vault{w, ring, filepath.Join(w.t.TempDir(), "keyring.json")}
	if err := seal.Create(v.file, ring, nil); err != nil {
		w.t.Fatal(err)
	}
	w.keyring = v.file
	return v
}

// config is that of a worker that can open what the vault sealed.
func (v *vault) config() worker.Config {
	c := v.w.config()
	c.KeyRing.File = v.file
	return c
}

// seal seals a token for a connection of tenant acme. Nothing may show it from now on.
func (v *vault) seal(connectionID string, version int, p broker.Provider, token string) broker.Sealed {
	v.w.t.Helper()
	v.w.secrets.never(fmt.Sprintf("token %d of %s", version, connectionID), []byte(token))
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(token))})
	sealed, err := broker.New(v.w.store, v.ring, broker.Options{}).Seal(
		credential, broker.At("acme", connectionID, p, p.Hosts, version), time.Time{})
	if err != nil {
		v.w.t.Fatal(err)
	}
	return sealed
}

// rotate puts another secret into a connection that has its first.
func (v *vault) rotate(connectionID string, p broker.Provider, token string) {
	v.w.t.Helper()
	if done, err := v.w.store.ReplaceSecret(v.w.t.Context(), v.seal(connectionID, 2, p, token), 0, true, "e2etest"); err != nil || !done {
		v.w.t.Fatalf("replaced: %t, %v", done, err)
	}
}

// add makes a connection of tenant acme.
func (v *vault) add(connectionID string, p broker.Provider, token string, scopes ...string) {
	v.w.t.Helper()
	sealed := v.seal(connectionID, 1, p, token)
	err := v.w.store.AddConnection(v.w.t.Context(), postgres.NewConnection{Provider: p, Hosts: p.Hosts, Scopes: scopes, Sealed: sealed, SignedIn: true}, "e2etest")
	if err != nil {
		v.w.t.Fatal(err)
	}
}

func (v *vault) grant(connectionID, grantee string, scopes ...string) {
	v.w.t.Helper()
	if _, err := v.w.store.GrantConnection(v.w.t.Context(), "acme", connectionID, grantee, scopes, 0, "e2etest"); err != nil {
		v.w.t.Fatal(err)
	}
}

func (v *vault) revoke(connectionID, grantee string) {
	v.w.t.Helper()
	if err := v.w.store.RevokeConnectionGrant(v.w.t.Context(), "acme", connectionID, grantee, "e2etest"); err != nil {
		v.w.t.Fatal(err)
	}
}

// account adds a connection that people may use, of tools that do not ask for its credential: that one is sealed elsewhere.
func (w *world) account(tenantID, connectionID string, grantees ...string) {
	w.t.Helper()
	p := broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	if err := w.store.AddConnection(w.t.Context(), postgres.NewConnection{Provider: p, Hosts: p.Hosts, SignedIn: true, Sealed: broker.Sealed{
		Binding: broker.At(tenantID, connectionID, p, p.Hosts, 1), KeyID: 1, Bytes: []byte("sealed elsewhere"),
	}}, "e2etest"); err != nil {
		w.t.Fatal(err)
	}
	for _, grantee := range grantees {
		if _, err := w.store.GrantConnection(w.t.Context(), tenantID, connectionID, grantee, nil, 0, "e2etest"); err != nil {
			w.t.Fatal(err)
		}
	}
}

// fetch is a tool that asks the service over the connection of its call.
func fetch(s *service) run {
	return func(ctx context.Context, _ in, call toolspec.Call) (out, error) {
		return fetchAt(ctx, in{Text: s.URL}, call)
	}
}

// fetchAt asks the service at the URL that its text names.
func fetchAt(ctx context.Context, in in, call toolspec.Call) (out, error) {
	client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
	if err != nil {
		return out{}, toolspec.Safef("%w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.Text, nil)
	if err != nil {
		return out{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return out{}, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return out{}, err
	}
	return out{Text: fmt.Sprintf("%d %s", resp.StatusCode, body)}, nil
}

// connected makes a tool need a connection.
func connected(d *toolspec.Definition) {
	d.RequiresConnection, d.Capabilities = true, []toolspec.CapabilityName{capability.ClientsKey.Name()}
}

// over is a call that names a connection, and asks for it.
func over(inv toolspec.Invocation, connectionID string) toolspec.Invocation {
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = connectionID, []string{connectionID}
	return inv
}

// TestConnection: a tool acts with an account that it never sees, in both lanes; without a connection, a grant or the call's own word it
// does not run (CN-01, CN-03, CN-04, CN-09).
func TestConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	v.add("c1", s.provider(), s.token)
	v.grant("c1", actor)
	w.workWith(v.config(), worker.Tools(
		tool("test__read", fetch(s), connected, fast), tool("test__write", fetch(s), connected, idempotent),
		tool("test__risky", fetch(s), connected, idempotent, risky)))
	for _, id := range []string{"test__read", "test__write"} {
		wantText(t, w.invoke(over(invocation(id, id, `{}`), "c1")), "200 welcome")
	}
	call := w.start(over(invocation("risky", "test__risky", `{}`), "c1"))
	w.approve(call.WorkflowID)
	wantText(t, w.result(call), "200 welcome")
	// A tool that may be repeated may come again on a busy machine, but not each of them.
	asked := s.requests()
	if asked < 3 || asked > 5 {
		t.Errorf("%d requests of 3 calls", asked)
	}
	missing := w.invoke(invocation("missing", "test__read", `{}`))
	wantCode(t, missing, toolspec.CodeValidation)
	if missing.Details == nil || missing.Details.Kind != "missing_connection" {
		t.Errorf("details %+v", missing.Details)
	}
	unasked := over(invocation("unasked", "test__read", `{}`), "c1")
	unasked.AllowedConnectionIDs = nil
	wantCode(t, w.invoke(unasked), toolspec.CodePolicyDenied)
	wantCode(t, w.invoke(over(invocation("unknown", "test__read", `{}`), "c2")), toolspec.CodePolicyDenied)
	if n := s.requests(); n != asked {
		t.Errorf("%d requests, and %d before the calls that may not ask", n, asked)
	}
	if n := scalar[int](w, `SELECT count(*)::int FROM leases WHERE tenant_id = 'acme' AND kind = 'broker'`); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// TestRevokedWhileParked: a grant or a connection that goes while a person is asked is gone: the call is denied, and the credential is not used.
func TestRevokedWhileParked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	w.workWith(v.config(), worker.Tools(tool("test__risky", fetch(s), connected, once, risky)))
	for what, revoke := range map[string]func(connectionID string) error{
		"the-grant": func(connectionID string) error {
			return w.store.RevokeConnectionGrant(t.Context(), "acme", connectionID, actor, "e2etest")
		},
		"the-connection": func(connectionID string) error {
			_, err := w.store.RevokeConnection(t.Context(), "acme", connectionID, "e2etest")
			return err
		},
	} {
		v.add(what, s.provider(), s.token)
		v.grant(what, actor)
		call := w.start(over(invocation(what, "test__risky", `{}`), what))
		w.waiting(call.WorkflowID)
		at := time.Now()
		if err := revoke(what); err != nil {
			t.Fatal(err)
		}
		wantCode(t, w.result(call), toolspec.CodePolicyDenied)
		t.Logf("denied %s after %s was revoked", time.Since(at), what)
	}
	if s.requests() != 0 {
		t.Errorf("%d requests", s.requests())
	}
}

// TestRevokedWhileRunning: an attempt whose grant goes is cancelled. What may be repeated, or only reads, ends as denied; of another effect
// nobody knows (the table of design section 5).
func TestRevokedWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	s.hold = make(chan struct{})
	w.workWith(v.config(), worker.Tools(
		tool("test__read", fetch(s), connected), tool("test__idempotent", fetch(s), connected, idempotent), tool("test__once", fetch(s), connected, once)))
	for toolID, want := range map[string]toolspec.Code{
		"test__read": toolspec.CodePolicyDenied, "test__idempotent": toolspec.CodePolicyDenied, "test__once": toolspec.CodeOutcomeUnknown,
	} {
		v.add(toolID, s.provider(), s.token)
		v.grant(toolID, actor)
		call := w.start(over(invocation("run-"+toolID, toolID, `{}`), toolID))
		receive(t, s.entered)
		at := time.Now()
		v.revoke(toolID, actor)
		r := w.result(call)
		t.Logf("%s ended %s after the revocation", toolID, time.Since(at))
		wantCode(t, r, want)
		if want == toolspec.CodeOutcomeUnknown && (r.Details == nil || r.Details.Cause != "revoked") {
			t.Errorf("details %+v", r.Details)
		}
	}
	if s.requests() != 3 {
		t.Errorf("%d requests", s.requests())
	}
}

// TestBrokerAway: where a credential does not open, nothing of the call has begun, and it goes on once the key is there (fault 54).
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	v.add("c1", s.provider(), s.token)
	v.grant("c1", actor)
	other, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := seal.Change(v.file, nil, func(*seal.Ring) (*seal.Ring, error) { return other, nil }); err != nil {
		t.Fatal(err)
	}
	w.workWith(v.config(), worker.Tools(tool("test__once", fetch(s), connected, once)))
	call := w.start(over(invocation("away", "test__once", `{}`), "c1"))
	w.until(func() bool { return w.log.has("the sealed credential does not open") }, "the worker says why")
	if n := scalar[int](w, `SELECT count(*)::int FROM claims WHERE invocation_id = $1::uuid`, call.InvocationID); n != 0 || s.requests() != 0 {
		t.Errorf("%d claims and %d requests", n, s.requests())
	}
	if err := seal.Change(v.file, nil, func(*seal.Ring) (*seal.Ring, error) { return v.ring, nil }); err != nil {
		t.Fatal(err)
	}
	r := w.result(call)
	wantText(t, r, "200 welcome")
	if r.Attempts != 1 || s.requests() != 1 {
		t.Errorf("%d attempts and %d requests", r.Attempts, s.requests())
	}
}

// TestLeaseAfterTerminate: a lease goes with its call, also where nobody was left to give it back (fault 54).
func TestLeaseAfterTerminate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	s.hold = make(chan struct{})
	v.add("c1", s.provider(), s.token)
	v.grant("c1", actor)
	w.workWith(v.config(), worker.Tools(tool("test__once", fetch(s), connected, once)))
	inv := over(invocation("ended", "test__once", `{}`), "c1")
	call := w.start(inv)
	receive(t, s.entered)
	leases := func() int {
		return scalar[int](w, `SELECT count(*)::int FROM leases WHERE invocation_id = $1::uuid AND kind = 'broker'`, call.InvocationID)
	}
	if leases() != 1 {
		t.Errorf("%d leases while it runs", leases())
	}
	w.terminate(inv)
	w.over(inv)
	w.sweep()
	w.until(func() bool { return leases() == 0 }, "the lease is gone")
}

// TestChangedConnection: an approval is for the connection as it was: another secret may be of another account (design section 7).
func TestChangedConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	v.add("c1", s.provider(), s.token)
	v.grant("c1", actor)
	w.workWith(v.config(), worker.Tools(tool("test__risky", fetch(s), connected, once, risky)))
	call := w.start(over(invocation("changed", "test__risky", `{}`), "c1"))
	w.waiting(call.WorkflowID)
	v.rotate("c1", s.provider(), string(newCanary()))
	// By signal, for the recheck may come while the decision is answered.
	if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(toolspec.ApprovalID(call.InvocationID, 1), ann)); err != nil {
		t.Fatal(err)
	}
	r := w.result(call)
	wantCode(t, r, toolspec.CodeApprovalStale)
	if r.SafeMessage != "What was approved has changed: its connection" {
		t.Errorf("it says %q", r.SafeMessage)
	}
	if s.requests() != 0 {
		t.Errorf("%d requests", s.requests())
	}
}
