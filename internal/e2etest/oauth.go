package e2etest

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
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// API is a service that accepts the tokens of an authorization server.
type API struct {
	*httptest.Server
	auth *oauthtest.Server
	Mu   sync.Mutex
	// Seen has the token of each request, and Paths has the number of requests for each path.
	Seen  []string
	Paths map[string]int
}

// NewAPI starts a service that ends with the test.
func NewAPI(t *testing.T, auth *oauthtest.Server) *API {
	t.Helper()
	a := &API{auth: auth, Paths: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := oauthtest.Bearer(r)
		a.Mu.Lock()
		a.Seen = append(a.Seen, token)
		a.Paths[r.URL.Path]++
		a.Mu.Unlock()
		if !auth.Valid(token) {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, "welcome")
	}))
	t.Cleanup(a.Close)
	return a
}

// Requests returns the number of requests so far.
func (a *API) Requests() int {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	return len(a.Seen)
}

// Provider describes the service to the broker.
func (a *API) Provider() broker.Provider {
	u, _ := url.Parse(a.URL)
	return broker.Provider{ID: "test", Kind: broker.OAuth, Hosts: []string{u.Host}, Insecure: true, OAuth2: &broker.OAuth2{
		Flow: broker.AuthorizationCode, AuthURL: a.auth.URL + "/authorize", TokenURL: a.auth.URL + "/token", RevokeURL: a.auth.URL + "/revoke",
	}}
}

// AddOAuth adds a connection by OAuth whose access token expires after lasts, and grants it to Actor.
func (v *Vault) AddOAuth(connectionID string, p broker.Provider, parts map[string]string, lasts time.Duration) {
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
	v.Grant(connectionID, Actor)
}

// Stale returns the parts of a credential whose access token is not valid any more.
func Stale(auth *oauthtest.Server) map[string]string {
	return map[string]string{broker.FieldAccessToken: string(NewCanary()), broker.FieldRefreshToken: auth.Grant()}
}
