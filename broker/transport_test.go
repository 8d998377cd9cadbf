package broker

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

const token = "tok-5fPqW9zR2xYbN7cV"

// world is a connection's own host and a stranger, both on https.
type world struct {
	*testing.T
	own, stranger *httptest.Server
	lease         *Lease
	// seen are the requests to each.
	ownSeen, strangerSeen []*http.Request
	bodies                []string
	// redirect is where the own host sends everybody, with that status.
	redirect string
	status   int
	// back is where the stranger sends everybody, with a stop on its own host before, or "".
	back string
	// refuses is how many requests the own host answers with 401.
	refuses int
}

func newWorld(t *testing.T, change ...func(*Provider)) *world {
	t.Helper()
	w := &world{T: t}
	w.own = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.ownSeen, w.bodies = append(w.ownSeen, r), append(w.bodies, string(body))
		if w.refuses--; w.refuses >= 0 {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		if w.redirect != "" && r.URL.Path != "/there" {
			http.Redirect(rw, r, w.redirect, w.status)
			return
		}
		for name, values := range r.Header {
			rw.Header()["Echo-"+name] = values
		}
	}))
	t.Cleanup(w.own.Close)
	w.stranger = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.strangerSeen = append(w.strangerSeen, r)
		switch {
		case w.back != "" && r.URL.Path != "/further":
			http.Redirect(rw, r, "/further", http.StatusFound)
		case w.back != "":
			http.Redirect(rw, r, w.back, http.StatusFound)
		}
	}))
	t.Cleanup(w.stranger.Close)
	p := Provider{ID: "test", Kind: Bearer, Hosts: []string{host(t, w.own.URL)}}
	for _, c := range change {
		c(&p)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	signers, err := NewSigners()
	if err != nil {
		t.Fatal(err)
	}
	w.lease = &Lease{
		connectionID: "c1", provider: p, hosts: hosts{p.Hosts, p.Insecure}, base: w.own.Client().Transport, foreign: w.stranger.Client().Transport, signers: signers,
		credential: credential(map[string]string{
			FieldToken: token, FieldKey: token, FieldUsername: "ann", FieldPassword: token, FieldAccessToken: token, "secret": token, "key_id": "k1",
		}),
	}
	return w
}

func credential(parts map[string]string) Credential {
	secrets := map[string]Secret{}
	for name, value := range parts {
		secrets[name] = capability.NewSecret([]byte(value))
	}
	return NewCredential(secrets)
}

func host(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// do sends a request and returns what its response says that the request was.
func (w *world) do(method, target, body string, change ...func(*http.Request)) (*http.Request, error) {
	w.Helper()
	client, err := w.lease.For("c1")
	if err != nil {
		w.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.Context(), method, target, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range change {
		c(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return resp.Request, resp.Body.Close()
}

// TestKinds: every kind of credential reaches the service in its own way, in the place of what the tool says itself.
func TestKinds(t *testing.T) {
	for name, tc := range map[string]struct {
		provider func(*Provider)
		want     func(*http.Request) string
		value    string
	}{
		"bearer": {func(p *Provider) {}, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Bearer " + token},
		"oauth2": {func(p *Provider) {
			p.Kind, p.OAuth2 = OAuth, &OAuth2{Flow: ClientCredentials, TokenURL: "https://a.example/token"}
		},
			func(r *http.Request) string { return r.Header.Get("Authorization") }, "Bearer " + token},
		"basic": {func(p *Provider) { p.Kind = Basic }, func(r *http.Request) string {
			user, word, _ := r.BasicAuth()
			return user + " " + word
		}, "ann " + token},
		"key in a header": {func(p *Provider) { p.Kind, p.Place = APIKey, &Place{Header: "X-Api-Key", Template: "key={key};"} },
			func(r *http.Request) string { return r.Header.Get("X-Api-Key") }, "key=" + token + ";"},
		"key in the query": {func(p *Provider) { p.Kind, p.Place = APIKey, &Place{Query: "key"} },
			func(r *http.Request) string { return r.URL.Query().Get("key") + " " + r.URL.Query().Get("q") }, token + " 1"},
		"signed": {func(p *Provider) { p.Kind, p.Signer = Signed, "hmac-sha256" }, func(r *http.Request) string {
			mac := hmac.New(sha256.New, []byte(token))
			fmt.Fprintf(mac, "POST\x00/there?key=mine&q=1\x00%s\x00%x", r.Header.Get("X-Timestamp"), sha256.Sum256([]byte("body")))
			return fmt.Sprint(r.Header.Get("X-Key-Id"), r.Header.Get("X-Signature") == hex.EncodeToString(mac.Sum(nil)))
		}, "k1true"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.provider)
			was, err := w.do(http.MethodPost, w.own.URL+"/there?key=mine&q=1", "body", func(r *http.Request) {
				r.Header.Set("Authorization", "mine")
				r.Header.Set("X-Api-Key", "mine")
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := tc.want(w.ownSeen[0]); got != tc.value || w.bodies[0] != "body" {
				t.Errorf("the service got %q and %q, want %q", got, w.bodies[0], tc.value)
			}
			if shown := fmt.Sprintf("%v %v", was.Header, was.URL); strings.Contains(shown, token) {
				t.Error("the request of the response holds the credential")
			}
		})
	}
}

// TestForeignHosts: a credential goes nowhere but to the connection's hosts, and nothing else does at the tool's word (fault 55).
func TestForeignHosts(t *testing.T) {
	w := newWorld(t)
	for name, target := range map[string]string{
		"another host": w.stranger.URL, "plain http": strings.Replace(w.own.URL, "https", "http", 1), "another port": "https://127.0.0.1:1/",
		"a user in the URL": "https://" + host(t, w.own.URL) + "@" + host(t, w.stranger.URL) + "/",
	} {
		if _, err := w.do(http.MethodGet, target, ""); !errors.Is(err, capability.ErrForeignHost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.do(http.MethodGet, w.own.URL, "", func(r *http.Request) { r.Host = "other.example" }); !errors.Is(err, capability.ErrForeignHost) {
		t.Errorf("another Host header: %v", err)
	}
	if len(w.ownSeen)+len(w.strangerSeen) != 0 {
		t.Errorf("%d and %d requests arrived", len(w.ownSeen), len(w.strangerSeen))
	}
}

// TestRedirects: a redirect elsewhere is followed without the credential and what else the tool sent along, and only for reading.
func TestRedirects(t *testing.T) {
	w := newWorld(t)
	w.redirect, w.status = w.stranger.URL+"/x", http.StatusFound
	if _, err := w.do(http.MethodGet, w.own.URL, "", func(r *http.Request) {
		r.Header.Set("X-Mine", "mine")
		r.Header.Set("Accept", "text/plain")
	}); err != nil {
		t.Fatal(err)
	}
	got := w.strangerSeen[0]
	if shown := fmt.Sprint(got.Header, got.URL); strings.Contains(shown, token) || got.Header.Get("X-Mine") != "" || got.Header.Get("Accept") != "text/plain" ||
		got.Header.Get("Referer") != "" {
		t.Errorf("the stranger got %v", got.Header)
	}
	w.status = http.StatusTemporaryRedirect
	if _, err := w.do(http.MethodPost, w.own.URL, "body"); !errors.Is(err, capability.ErrForeignHost) || len(w.strangerSeen) != 1 {
		t.Errorf("a body: %v, %d requests", err, len(w.strangerSeen))
	}
	w.redirect = strings.Replace(w.stranger.URL, "https", "http", 1)
	if _, err := w.do(http.MethodGet, w.own.URL, ""); !errors.Is(err, capability.ErrForeignHost) {
		t.Errorf("plain http: %v", err)
	}
	w.redirect, w.back = w.stranger.URL+"/x", w.own.URL+"/there"
	seen := len(w.ownSeen)
	if _, err := w.do(http.MethodGet, w.own.URL, ""); !errors.Is(err, capability.ErrForeignHost) || len(w.ownSeen) != seen+1 {
		t.Errorf("back from the stranger: %v, %d requests", err, len(w.ownSeen)-seen)
	}
	w.redirect = w.own.URL + "/there"
	if _, err := w.do(http.MethodGet, w.own.URL, ""); err != nil {
		t.Fatal(err)
	}
	if last := w.ownSeen[len(w.ownSeen)-1]; last.URL.Path != "/there" || last.Header.Get("Authorization") != "Bearer "+token {
		t.Errorf("on its own host: %v", last.Header)
	}
	w.redirect = w.own.URL + "/again"
	if _, err := w.do(http.MethodGet, w.own.URL, ""); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a circle: %v", err)
	}
}

// TestForeignAddresses: a redirect leads to no address that is not public, whatever name it has.
func TestForeignAddresses(t *testing.T) {
	w := newWorld(t)
	w.lease.foreign = New(nil, nil, Options{}).foreign
	w.redirect, w.status = w.stranger.URL, http.StatusFound
	if _, err := w.do(http.MethodGet, w.own.URL, ""); err == nil || len(w.strangerSeen) != 0 {
		t.Errorf("got %v, and %d requests", err, len(w.strangerSeen))
	}
}

// TestCredentialNeverExposed: what a tool can lay hands on holds no credential: errors, traces of the connection, what the request was.
func TestCredentialNeverExposed(t *testing.T) {
	w := newWorld(t, func(p *Provider) { p.Kind, p.Place = APIKey, &Place{Query: "key"} })
	var wrote []string
	trace := &httptrace.ClientTrace{WroteHeaderField: func(key string, value []string) { wrote = append(wrote, key+fmt.Sprint(value)) }}
	var sent *http.Request
	if _, err := w.do(http.MethodGet, w.own.URL, "", func(r *http.Request) {
		*r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
		sent = r
	}); err != nil {
		t.Fatal(err)
	}
	if len(wrote) > 0 || strings.Contains(fmt.Sprint(sent.URL, sent.Header), token) {
		t.Errorf("traced %v, sent %v", wrote, sent.URL)
	}
	for name, base := range map[string]http.RoundTripper{
		"quotes": failing{}, "gone": &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return nil, fmt.Errorf("no proxy for %s", r.URL) }},
	} {
		w.lease.base = base
		_, err := w.do(http.MethodGet, w.own.URL+"/p?q=1", "")
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v %s", err, err, err, chain(err)), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.lease.base = slow{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := w.do(http.MethodGet, w.own.URL, "", func(r *http.Request) { *r = *r.WithContext(ctx) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline is %v", err)
	}
}

type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: fmt.Errorf("with %v", r.Header)}
}

type slow struct{}

func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func chain(err error) (all string) {
	for ; err != nil; err = errors.Unwrap(err) {
		all += err.Error() + "; "
	}
	return all
}

// TestLeaseEnds: after the attempt nothing of it works, and what a tool was given is gone.
func TestLeaseEnds(t *testing.T) {
	w := newWorld(t)
	client, err := w.lease.For("c1")
	if err != nil {
		t.Fatal(err)
	}
	given, err := w.lease.AccessToken(t.Context(), "c1")
	if err != nil || string(given.Reveal()) != token {
		t.Fatalf("got %v", err)
	}
	headers, err := w.lease.AuthHeaders(t.Context(), "c1")
	if err != nil || string(headers["Authorization"].Reveal()) != "Bearer "+token {
		t.Fatalf("got %v", err)
	}
	for _, other := range []string{"", "c2"} {
		_, err := w.lease.For(other)
		_, asked := w.lease.AccessToken(t.Context(), other)
		_, headers := w.lease.AuthHeaders(t.Context(), other)
		if !errors.Is(err, capability.ErrNoConnection) || !errors.Is(asked, capability.ErrNoConnection) || !errors.Is(headers, capability.ErrNoConnection) {
			t.Errorf("connection %q: %v, %v, %v", other, err, asked, headers)
		}
	}
	bytes := given.Reveal()
	w.lease.Close()
	w.lease.Close()
	if given.Reveal() != nil || headers["Authorization"].Reveal() != nil || strings.Trim(string(bytes), "\x00") != "" {
		t.Error("what was given is still there")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.own.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	_, asked := w.lease.AccessToken(t.Context(), "c1")
	if _, again := w.lease.For("c1"); !errors.Is(err, capability.ErrLeaseOver) || !errors.Is(asked, capability.ErrLeaseOver) || !errors.Is(again, capability.ErrLeaseOver) {
		t.Errorf("after the end: %v, %v, %v", err, asked, again)
	}
	if len(w.ownSeen) != 0 {
		t.Errorf("%d requests", len(w.ownSeen))
	}
}

// TestNoToken: kinds without a token have none to give.
func TestNoToken(t *testing.T) {
	w := newWorld(t, func(p *Provider) { p.Kind, p.Signer = Signed, "hmac-sha256" })
	w.lease.credential = credential(map[string]string{"secret": token, "key_id": "k1"})
	if _, err := w.lease.AccessToken(t.Context(), "c1"); !errors.Is(err, capability.ErrNoToken) {
		t.Errorf("token: %v", err)
	}
	if _, err := w.lease.AuthHeaders(t.Context(), "c1"); !errors.Is(err, capability.ErrNoToken) {
		t.Errorf("headers: %v", err)
	}
}
