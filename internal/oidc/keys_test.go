package oidc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pawl-run/pawl/internal/oidc"
	"github.com/pawl-run/pawl/internal/oidc/oidctest"
)

const (
	ann   = "oidc:corp:ann@example.com"
	never = time.Hour
	long  = time.Minute
)

func tokenOf(p *oidctest.Provider) string { return p.Token("ann@example.com", nonce, now) }

// TestRotation: a new key counts without a restart, and one that is taken back no longer.
func TestRotation(t *testing.T) {
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	v.Paced(never, 0, 0, long, long)
	old := tokenOf(p)
	wantIdentity(t, v, row(old), ann)
	wantIdentity(t, v, row(old), ann)
	if n := p.Asked(); n != 1 {
		t.Errorf("asked %d times for one key", n)
	}
	p.Rotate()
	wantIdentity(t, v, row(tokenOf(p)), ann)
	wantFault(t, v, row(old), "does not have")
}

// TestKeysAreKept: the issuer is believed for a time without being asked, and not for longer, even where it is away.
func TestKeysAreKept(t *testing.T) {
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	v.Paced(never, 0, 0, long, long)
	wantIdentity(t, v, row(tokenOf(p)), ann)
	p.Away(true)
	wantIdentity(t, v, row(tokenOf(p)), ann)
	v.Paced(time.Nanosecond, 0, 0, long, long)
	wantAgain(t, v, row(tokenOf(p)), "connection")
	p.Away(false)
	p.Rotate()
	wantFault(t, v, row(p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"kid": "1"})), "does not have")
}

// TestIssuerAway: nobody is refused because the issuer cannot be asked, and what comes meanwhile does not ask it again at once.
func TestIssuerAway(t *testing.T) {
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	asked := 0
	var mu sync.Mutex
	count := func(serve http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked++
			mu.Unlock()
			serve(w, r)
		}
	}
	v.Paced(never, never, never, long, long)
	p.Serve(count(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	wantAgain(t, v, row(tokenOf(p)), "status 500")
	for range 20 {
		wantAgain(t, v, row(tokenOf(p)), "a moment ago")
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	p.Serve(nil)
	v.Paced(never, never, 0, long, long)
	wantIdentity(t, v, row(tokenOf(p)), ann)
}

// TestFloodOfKeyIDs: tokens that name keys which nobody has ask the issuer once in a while. The first one of each time is refused for good; the
// others hear that nobody knows, for one of them may name the key that the issuer has just taken into use.
func TestFloodOfKeyIDs(t *testing.T) {
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	v.Paced(never, never, 0, long, long)
	flood := func(i int) string {
		return p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"kid": fmt.Sprint("k", i)})
	}
	wantFault(t, v, row(flood(0)), "does not have")
	for i := range 100 {
		wantAgain(t, v, row(flood(i+1)), "asked for another key")
	}
	wantIdentity(t, v, row(tokenOf(p)), ann)
	p.Rotate()
	wantAgain(t, v, row(tokenOf(p)), "asked for another key")
	if n := p.Asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	v.Paced(never, 0, 0, long, long)
	wantIdentity(t, v, row(tokenOf(p)), ann)
}

// TestOneQuestion: tokens that come at once make one question.
func TestOneQuestion(t *testing.T) {
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	v.Paced(never, never, never, long, long)
	token := tokenOf(p)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { wantIdentity(t, v, row(token), ann) })
	}
	group.Wait()
	if n := p.Asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestSlowIssuer: a decision does not wait for long, and what the issuer says later is there for the next one.
func TestSlowIssuer(t *testing.T) {
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	v.Paced(never, never, 0, long, 10*time.Millisecond)
	hold, asked := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	p.Serve(func(w http.ResponseWriter, _ *http.Request) {
		once()
		<-hold
		http.Error(w, "late", http.StatusServiceUnavailable)
	})
	wantAgain(t, v, row(tokenOf(p)), "no answer in time")
	// From here on the question does not look at the paces any more.
	<-asked
	p.Serve(nil)
	close(hold)
	v.Paced(never, 0, 0, long, long)
	// It joins the question under way, which fails, or asks anew.
	deadline := time.Now().Add(long)
	for {
		if _, _, _, err := v.Identify(t.Context(), row(tokenOf(p))); err == nil || time.Now().After(deadline) {
			break
		}
	}
	wantIdentity(t, v, row(tokenOf(p)), ann)
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	p.Serve(func(http.ResponseWriter, *http.Request) { <-stuck })
	p.Rotate()
	v.Paced(never, 0, 0, 20*time.Millisecond, long)
	wantAgain(t, v, row(tokenOf(p)), "no answer in time")
}

// TestIssuersThatTalkNonsense: whatever else an issuer says, nobody is identified by it, nobody refused, and nothing of it is repeated.
func TestIssuersThatTalkNonsense(t *testing.T) {
	const canary = "canary-4711"
	elsewhere := oidctest.New(t)
	hits := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits++
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	metadata := func(issuer, keys string) string { return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys) }
	for _, tc := range []struct {
		name            string
		discovery, keys func(p *oidctest.Provider, w http.ResponseWriter, r *http.Request)
		state           string
	}{
		{"words", func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, canary) }, nil, "discovery: the answer is not"},
		{"a status", func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			http.Error(w, canary, http.StatusNotFound)
		}, nil, "discovery: status 404"},
		{"another issuer", func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, metadata(elsewhere.URL(), elsewhere.URL()+"/keys"))
		}, nil, "another issuer"},
		{"no address of keys", func(p *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, metadata(p.URL(), ""))
		}, nil, "jwks_uri is not an allowed address"},
		{"keys in a file", func(p *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, metadata(p.URL(), "file:///etc/passwd"))
		}, nil, "jwks_uri is not an allowed address"},
		{"keys in clear on another machine", func(p *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, metadata(p.URL(), "http://192.0.2.1/keys"))
		}, nil, "jwks_uri is not an allowed address"},
		{"sent on to another server", func(_ *oidctest.Provider, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, server.URL, http.StatusFound)
		}, nil, "discovery: status 302"},
		{"sent in a circle", func(_ *oidctest.Provider, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, nil, "discovery: status 302"},
		{"without end", func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"issuer":"`, strings.Repeat(canary, 200_000), `"}`)
		}, nil, "larger than"},
		{"broken off", func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, nil, "breaks off"},
		{"keys sent on to another server", nil, func(_ *oidctest.Provider, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, server.URL, http.StatusTemporaryRedirect)
		}, "keys: status 307"},
		{"no keys", nil, func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) }, "no usable key"},
		{"a secret for a key", nil, func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"keys":[{"kty":"oct","kid":"1","k":"`+canary+`"}]}`)
		}, "no usable key"},
		{"keys that are a number", nil, func(_ *oidctest.Provider, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":1}`) }, "keys: the answer is not"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := oidctest.New(t)
			p.Serve(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/keys":
					tc.keys(p, w, r)
				case tc.discovery != nil:
					tc.discovery(p, w, r)
				default:
					fmt.Fprint(w, metadata(p.URL(), p.URL()+"/keys"))
				}
			})
			v := verifier(t, issuer(p))
			wantAgain(t, v, row(tokenOf(p)), tc.state)
			_, _, _, err := v.Identify(t.Context(), row(tokenOf(p)))
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%v", err)
			}
		})
	}
	if hits != 0 || elsewhere.Asked() != 0 {
		t.Errorf("another server was asked %d and %d times", hits, elsewhere.Asked())
	}
}

// TestSentOnWithinTheServer: an issuer may send us on to another place of its own.
func TestSentOnWithinTheServer(t *testing.T) {
	p := oidctest.New(t)
	key := jose.JSONWebKey{Key: privateKey(t), KeyID: "k", Algorithm: "ES256"}
	public, err := key.Public().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	p.Use(key)
	p.Serve(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
		case "/moved":
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, p.URL(), p.URL()+"/keys")
		default:
			fmt.Fprintf(w, `{"keys":[%s]}`, public)
		}
	})
	wantIdentity(t, verifier(t, issuer(p)), row(tokenOf(p)), ann)
}

// TestIssuers: what cannot be meant is refused before a worker starts.
func TestIssuers(t *testing.T) {
	good := oidc.Issuer{Name: "corp", URL: "https://id.example.com", ClientIDs: []string{"pawl"}, Tenants: []string{"acme"}}
	with := func(change func(*oidc.Issuer)) oidc.Issuer { i := good; change(&i); return i }
	many := make([]oidc.Issuer, 17)
	for _, tc := range []struct {
		name    string
		issuers []oidc.Issuer
		fault   string
	}{
		{"none", nil, ""},
		{"one", []oidc.Issuer{good}, ""},
		{"this machine", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "http://localhost:9000/realms/a" })}, ""},
		{"this machine by number", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "http://[::1]:9000" })}, ""},
		{"two", []oidc.Issuer{good, with(func(i *oidc.Issuer) { i.Name, i.URL = "other", "https://other.example.com" })}, ""},
		{"two that name users, in two tenants", []oidc.Issuer{
			with(func(i *oidc.Issuer) { i.As = "user:" }),
			with(func(i *oidc.Issuer) {
				i.Name, i.URL, i.As, i.Tenants = "other", "https://other.example.com", "user:", []string{"globex"}
			}),
		}, ""},
		{"two of a name", []oidc.Issuer{good, good}, "named corp"},
		{"one twice", []oidc.Issuer{good, with(func(i *oidc.Issuer) { i.Name = "other" })}, "two names"},
		{"two that name users", []oidc.Issuer{
			with(func(i *oidc.Issuer) { i.As = "user:" }),
			with(func(i *oidc.Issuer) {
				i.Name, i.URL, i.As, i.Tenants = "other", "https://other.example.com", "user:x:", []string{"*"}
			}),
		}, "two people the same"},
		{"too many", many, "at most 16"},
		{"in clear", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "http://id.example.com" })}, "https://"},
		{"in clear at a name like this machine's", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "http://localhost.example.com" })}, "https://"},
		{"a file", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "file:///id" })}, "of the form"},
		{"with a password", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "https://a:s3same@id.example.com" })}, "of the form"},
		{"with a query", []oidc.Issuer{with(func(i *oidc.Issuer) { i.URL = "https://id.example.com?a" })}, "of the form"},
		{"no name", []oidc.Issuer{with(func(i *oidc.Issuer) { i.Name = "" })}, "needs a name"},
		{"a name with a colon", []oidc.Issuer{with(func(i *oidc.Issuer) { i.Name = "a:b" })}, "needs a name"},
		{"no client", []oidc.Issuer{with(func(i *oidc.Issuer) { i.ClientIDs = nil })}, "client id is missing"},
		{"an empty client", []oidc.Issuer{with(func(i *oidc.Issuer) { i.ClientIDs = []string{""} })}, "client id is missing"},
		{"no tenant", []oidc.Issuer{with(func(i *oidc.Issuer) { i.Tenants = nil })}, "name the tenants"},
		{"as roles", []oidc.Issuer{with(func(i *oidc.Issuer) { i.As = "role:" })}, "people are named"},
		{"as another's", []oidc.Issuer{with(func(i *oidc.Issuer) { i.As = "oidc:other:" })}, "people are named"},
		{"as anybody", []oidc.Issuer{with(func(i *oidc.Issuer) { i.As = "ann" })}, "people are named"},
	} {
		_, err := oidc.New(tc.issuers...)
		if (err == nil) != (tc.fault == "") || err != nil && (!strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), "s3same")) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.fault)
		}
	}
}
