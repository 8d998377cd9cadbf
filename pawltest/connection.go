package pawltest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Connection is a connection to a service of the test, with a grant for the caller.
type Connection struct {
	// ID is the connectionId of the call. The default is "test".
	ID string
	// Provider says to which hosts the credential may go, and how. The default sends a bearer
	// token to api.example.com.
	Provider broker.Provider
	// Credential has the parts of the credential by their names, as `pawl connections add` takes
	// them. The default for a provider of the kind bearer is a random token.
	Credential map[string]string
	// Signers sign requests, as worker.Signers do, if Provider is of the kind signed. The default
	// is the signers of Pawl.
	Signers []broker.Signer
	// Scopes are the scopes of the connection and of the grant. The default is the scopes that
	// the tool needs, and for a Stack the scopes that Options.Tools need.
	Scopes []string
	// Service answers the requests to the hosts of the provider, over TLS. It also answers http://
	// requests if Provider.Insecure allows them. The default answers each with 501 and says that Service is missing.
	Service http.Handler
}

// withDefaults returns the connection with its defaults. scopes are the scopes that the tool needs.
func (n Connection) withDefaults(t testing.TB, scopes []string) Connection {
	t.Helper()
	n.ID = cmp.Or(n.ID, "test")
	if n.Provider.ID == "" {
		n.Provider = broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	}
	if n.Credential == nil && n.Provider.Kind == broker.Bearer {
		n.Credential = map[string]string{broker.FieldToken: "token-" + rand.Text()}
	}
	if n.Scopes == nil {
		n.Scopes = scopes
	}
	if n.Service == nil {
		n.Service = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "pawltest: the Connection of the test has no Service", http.StatusNotImplemented)
		})
	}
	if err := n.Provider.Check(); err != nil {
		t.Fatalf("pawltest: Connection.Provider: %v", err)
	}
	return n
}

// signers returns the signers of a worker that has n.Signers too.
func (n Connection) signers(t testing.TB) broker.Signers {
	t.Helper()
	signers, err := broker.NewSigners(n.Signers...)
	if err != nil {
		t.Fatalf("pawltest: Connection.Signers: %v", err)
	}
	return signers
}

// credential returns the parts of the credential.
func (n Connection) credential(t testing.TB) broker.Credential {
	t.Helper()
	parts := make(map[string]broker.Secret, len(n.Credential))
	for name, value := range maps.All(n.Credential) {
		parts[name] = capability.NewSecret([]byte(value))
	}
	credential := broker.NewCredential(parts)
	if err := n.Provider.CheckCredential(credential, n.signers(t)); err != nil {
		t.Fatalf("pawltest: Connection.Credential: %v", err)
	}
	return credential
}

// newBroker returns a broker whose only connection is n, granted to the caller of call. The broker
// adds the secrets that it opens to live.
func (n Connection) newBroker(t testing.TB, call toolspec.Context, live *fingerprint.Set) *broker.Broker {
	t.Helper()
	keyRing, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	store := &oneConnection{connection: n, holder: broker.Holder(call)}
	b := broker.New(store, keyRing, broker.Options{Base: n.serve(t), Live: live, Signers: n.signers(t)})
	credential := n.credential(t)
	defer credential.Destroy()
	binding := broker.At(call.TenantID, n.ID, n.Provider, n.Provider.Hosts, 1)
	if store.sealed, err = b.Seal(credential, binding, time.Time{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// serve starts the service. It returns a transport that sends the requests for every host to the
// service.
func (n Connection) serve(t testing.TB) http.RoundTripper {
	t.Helper()
	server, plain := httptest.NewTLSServer(n.Service), httptest.NewServer(n.Service)
	t.Cleanup(server.Close)
	t.Cleanup(plain.Close)
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs //nolint:errcheck,forcetypeassert // httptest always makes this type
	// The certificate of the server is for example.com, whatever host a tool names.
	secure := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}}
	transport := &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return secure.DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
		// The broker sends a request without TLS only to a provider with Insecure.
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", plain.Listener.Addr().String())
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// oneConnection is a broker.Store of one connection with one grant. It never refreshes a token.
type oneConnection struct {
	connection Connection
	holder     string
	sealed     broker.Sealed
}

// LeaseConnection implements broker.Store.
func (g *oneConnection) LeaseConnection(_ context.Context, r broker.Request) (broker.Record, error) {
	n := g.connection
	grant := hook.ConnectionGrant{Grantee: g.holder, Scopes: n.Scopes}
	if r.ConnectionID != n.ID || r.Holder != g.holder ||
		!broker.Covers(hook.Connection{Scopes: n.Scopes, Grants: []hook.ConnectionGrant{grant}}, r.Roles, r.Scopes) {
		return broker.Record{Answer: broker.Denied}, nil
	}
	return broker.Record{
		Answer: broker.Leased, Provider: n.Provider, Hosts: n.Provider.Hosts, Scopes: n.Scopes, Generation: 1, Sealed: g.sealed,
	}, nil
}

// SealedSecrets implements broker.Store.
func (g *oneConnection) SealedSecrets(context.Context, broker.Binding, int) ([]broker.Sealed, error) {
	return slices.Clone([]broker.Sealed{g.sealed}), nil
}

// BeginRefresh implements broker.Store. It answers that no refresh is needed.
func (g *oneConnection) BeginRefresh(context.Context, broker.RefreshClaim) (broker.RefreshAnswer, error) {
	return broker.RefreshUseless, nil
}

// StoreRefreshed implements broker.Store.
func (g *oneConnection) StoreRefreshed(context.Context, broker.Refreshed) (broker.StoreAnswer, error) {
	return broker.TokenSuperseded, nil
}

// FailRefresh implements broker.Store.
func (g *oneConnection) FailRefresh(context.Context, broker.FailedRefresh) error { return nil }
