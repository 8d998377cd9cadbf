package secrets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/oauthtest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// api is a service that takes what an authorization server gives out.
type api struct {
	*httptest.Server
	auth *oauthtest.Server
	mu   sync.Mutex
	// seen are the tokens that requests came with, and paths how often each path was asked for.
	seen  []string
	paths map[string]int
}

func newAPI(t *testing.T, auth *oauthtest.Server) *api {
	t.Helper()
	a := &api{auth: auth, paths: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := oauthtest.Bearer(r)
		a.mu.Lock()
		a.seen = append(a.seen, token)
		a.paths[r.URL.Path]++
		a.mu.Unlock()
		if !auth.Valid(token) {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, "welcome")
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.seen)
}

// provider describes it.
func (a *api) provider() broker.Provider {
	u, _ := url.Parse(a.URL)
	return broker.Provider{ID: "test", Kind: broker.OAuth, Hosts: []string{u.Host}, Insecure: true, OAuth2: &broker.OAuth2{
		Flow: broker.AuthorizationCode, AuthURL: a.auth.URL + "/authorize", TokenURL: a.auth.URL + "/token", RevokeURL: a.auth.URL + "/revoke",
	}}
}

// addToken makes a connection of tenant acme whose access token lasts that long still.
func addToken(v *e2etest.Vault, connectionID string, p broker.Provider, parts map[string]string, lasts time.Duration) {
	v.W.T.Helper()
	v.W.Secrets.Never("the client's secret", []byte(oauthtest.ClientSecret))
	secrets := map[string]broker.Secret{
		broker.FieldClientID: capability.NewSecret([]byte(oauthtest.ClientID)), broker.FieldClientSecret: capability.NewSecret([]byte(oauthtest.ClientSecret)),
	}
	for name, value := range parts {
		v.W.Secrets.Never(connectionID+"'s "+name, []byte(value))
		secrets[name] = capability.NewSecret([]byte(value))
	}
	b := broker.New(v.W.Store, v.Ring, broker.Options{})
	at := broker.At("acme", connectionID, p, p.Hosts, 1)
	sealed, err := b.Seal(broker.NewCredential(secrets), at, time.Now().Add(lasts))
	if err == nil {
		err = v.W.Store.AddConnection(v.W.T.Context(), connections.AddRow{Provider: p, Hosts: p.Hosts, Sealed: sealed, SignedIn: true},
			"e2etest")
	}
	if err != nil {
		v.W.T.Fatal(err)
	}
	v.Grant(connectionID, e2etest.Actor)
}

// stale are the parts of a credential whose access token is dead.
func stale(auth *oauthtest.Server) map[string]string {
	return map[string]string{broker.FieldAccessToken: string(e2etest.NewCanary()), broker.FieldRefreshToken: auth.Grant()}
}

// fetchFrom is the arguments of a call of fetchAt.
func fetchFrom(s *api) string { return fmt.Sprintf(`{"text":%q}`, s.URL) }
