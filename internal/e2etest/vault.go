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
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// Service is an API on a loopback address that requires a bearer token.
type Service struct {
	*httptest.Server
	Mu    sync.Mutex
	Token string
	// seen has the value of the header Authorization of each request, in order.
	seen []string
	// Hold, if set, delays answers until it is closed. Entered gets one message for each request.
	Hold, Entered chan struct{}
}

// NewService starts a Service that ends with the test.
func NewService(t *testing.T, token string) *Service {
	t.Helper()
	s := &Service{Token: token, Entered: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Mu.Lock()
	got, want, hold := r.Header.Get("Authorization"), "Bearer "+s.Token, s.Hold
	s.seen = append(s.seen, got)
	s.Mu.Unlock()
	s.Entered <- struct{}{}
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

// Requests returns the number of requests so far.
func (s *Service) Requests() int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return len(s.seen)
}

// Provider describes the API to the broker.
func (s *Service) Provider() broker.Provider {
	u, _ := url.Parse(s.URL)
	return broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{u.Host}, Insecure: true}
}

// Vault adds connections of the tenant acme to a world, and seals their secrets with its key ring.
type Vault struct {
	W    *World
	Ring *seal.Ring
	File string
}

// NewVault creates the key ring, which the child processes of the world use too.
func NewVault(w *World) *Vault {
	w.T.Helper()
	ring, err := seal.New()
	if err != nil {
		w.T.Fatal(err)
	}
	v := &Vault{w, ring, filepath.Join(w.T.TempDir(), "keyring.json")}
	if err := seal.Create(v.File, ring, nil); err != nil {
		w.T.Fatal(err)
	}
	w.Keyring = v.File
	return v
}

// Config returns the configuration of a worker with the key ring.
func (v *Vault) Config() worker.Config {
	c := v.W.Config()
	c.KeyRing.File = v.File
	return c
}

// Seal seals a token for a connection. From then on the token is a secret of the world.
func (v *Vault) Seal(connectionID string, version int, p broker.Provider, token string) broker.Sealed {
	v.W.T.Helper()
	v.W.Secrets.Never(fmt.Sprintf("token %d of %s", version, connectionID), []byte(token))
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(token))})
	sealed, err := broker.New(v.W.Store, v.Ring, broker.Options{}).Seal(
		credential, broker.At("acme", connectionID, p, p.Hosts, version), time.Time{})
	if err != nil {
		v.W.T.Fatal(err)
	}
	return sealed
}

// Add adds a connection.
func (v *Vault) Add(connectionID string, p broker.Provider, token string, scopes ...string) {
	v.W.T.Helper()
	sealed := v.Seal(connectionID, 1, p, token)
	err := v.W.Store.AddConnection(v.W.T.Context(), connections.AddRow{Provider: p, Hosts: p.Hosts, Scopes: scopes, Sealed: sealed,
		SignedIn: true}, "e2etest")
	if err != nil {
		v.W.T.Fatal(err)
	}
}

// Grant lets a grantee use a connection.
func (v *Vault) Grant(connectionID, grantee string, scopes ...string) {
	v.W.T.Helper()
	if _, err := v.W.Store.GrantConnection(v.W.T.Context(), "acme", connectionID, grantee, scopes, 0, "e2etest"); err != nil {
		v.W.T.Fatal(err)
	}
}

// Revoke revokes the grant of a grantee.
func (v *Vault) Revoke(connectionID, grantee string) {
	v.W.T.Helper()
	if err := v.W.Store.RevokeConnectionGrant(v.W.T.Context(), "acme", connectionID, grantee, "e2etest"); err != nil {
		v.W.T.Fatal(err)
	}
}

// Account adds a connection and its grants for tools that never read the credential. The sealed secret is not a real one, and no worker could open it.
func (w *World) Account(tenantID, connectionID string, grantees ...string) {
	w.T.Helper()
	p := broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	if err := w.Store.AddConnection(w.T.Context(), connections.AddRow{Provider: p, Hosts: p.Hosts, SignedIn: true, Sealed: broker.Sealed{
		Binding: broker.At(tenantID, connectionID, p, p.Hosts, 1), KeyID: 1, Bytes: []byte("sealed elsewhere"),
	}}, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
	for _, grantee := range grantees {
		if _, err := w.Store.GrantConnection(w.T.Context(), tenantID, connectionID, grantee, nil, 0, "e2etest"); err != nil {
			w.T.Fatal(err)
		}
	}
}

// Fetch returns a tool that sends a request to the service with the connection of its call.
func Fetch(s *Service) Run {
	return func(ctx context.Context, _ In, call toolspec.Call) (Out, error) {
		return FetchAt(ctx, In{Text: s.URL}, call)
	}
}

// FetchAt is Fetch for the URL in In.Text.
func FetchAt(ctx context.Context, in In, call toolspec.Call) (Out, error) {
	client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
	if err != nil {
		return Out{}, toolspec.Safef("%w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.Text, nil)
	if err != nil {
		return Out{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return Out{}, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return Out{}, err
	}
	return Out{Text: fmt.Sprintf("%d %s", resp.StatusCode, body)}, nil
}

// Connected makes a tool require a connection.
func Connected(d *toolspec.Definition) {
	d.RequiresConnection, d.Capabilities = true, []toolspec.CapabilityName{capability.ClientsKey.Name()}
}

// Over returns the call with a connection, which the call also lists as allowed.
func Over(inv toolspec.Invocation, connectionID string) toolspec.Invocation {
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = connectionID, []string{connectionID}
	return inv
}
