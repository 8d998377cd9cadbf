package broker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker/oauthtest"
)

// describe is the provider of an authorization server.
func describe(s *oauthtest.Server) Provider {
	return Provider{ID: "test", Kind: OAuth, Hosts: []string{"127.0.0.1:1"}, Insecure: true, OAuth2: &OAuth2{
		Flow: AuthorizationCode, AuthURL: s.URL + "/authorize", TokenURL: s.URL + "/token", RevokeURL: s.URL + "/revoke",
	}}
}

func theClient() Credential {
	return credential(map[string]string{FieldClientID: oauthtest.ClientID, FieldClientSecret: oauthtest.ClientSecret})
}

// visit is a browser that opens a page and returns the last one it sees.
func visit(t *testing.T, method, page string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, page, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(text)
}

// TestSignIn: a consent in the browser becomes a credential, by a code that only who has the verifier can exchange.
func TestSignIn(t *testing.T) {
	// A browser that is still at it when the test ends has nowhere to say so.
	var browsers sync.WaitGroup
	defer browsers.Wait()
	for _, auth := range []string{"header", "body"} {
		s := oauthtest.New(t)
		s.Scope = "read"
		p := describe(s)
		p.OAuth2.ClientAuth = auth
		b := New(nil, nil, Options{})
		got, err := b.SignIn(t.Context(), SignIn{Provider: p, Scopes: []string{"read", "write"}, Client: theClient(), Show: func(u string) error {
			browsers.Go(func() { visit(t, http.MethodGet, u) })
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Credential; !s.Valid(string(c.Get(FieldAccessToken).Reveal())) || len(c.Get(FieldRefreshToken).Reveal()) == 0 ||
			string(c.Get(FieldClientSecret).Reveal()) != oauthtest.ClientSecret {
			t.Errorf("%s: got %s", auth, c)
		}
		if got.Lasts <= 59*time.Minute || got.Lasts > time.Hour || !got.Renews || len(got.Missing) != 1 || got.Missing[0] != "write" {
			t.Errorf("%s: got %+v", auth, got)
		}
	}
}

// TestCallback: only the answer of the server that was asked counts, once, and whoever else knocks does not end the wait.
func TestCallback(t *testing.T) {
	s := oauthtest.New(t)
	b := New(nil, nil, Options{})
	_, err := b.SignIn(t.Context(), SignIn{Provider: describe(s), Client: theClient(), Show: func(text string) error {
		u, err := url.Parse(text)
		if err != nil {
			return err
		}
		q := u.Query()
		if q.Get("code_challenge_method") != "S256" || strings.Contains(text, oauthtest.ClientSecret) {
			t.Errorf("the page is %s", text)
		}
		back, state := q.Get("redirect_uri"), url.QueryEscape(q.Get("state"))
		if !strings.HasPrefix(back, "http://127.0.0.1:") {
			t.Errorf("the browser comes back to %s", back)
		}
		for _, tc := range []struct {
			method, page string
			want         int
		}{
			{http.MethodGet, strings.TrimSuffix(back, "callback") + "?code=x&state=" + state, http.StatusNotFound},
			{http.MethodGet, back + "/more?code=x&state=" + state, http.StatusNotFound},
			{http.MethodPost, back + "?code=x&state=" + state, http.StatusMethodNotAllowed},
			{http.MethodGet, back + "?code=x&state=another", http.StatusBadRequest},
			{http.MethodGet, back + "?code=x", http.StatusBadRequest},
			{http.MethodGet, strings.Replace(back, "127.0.0.1", "localhost", 1) + "?code=x&state=" + state, http.StatusBadRequest},
			{http.MethodGet, back + "?state=" + state, http.StatusBadRequest},
			{http.MethodGet, back + "?error=access_denied&error_description=secret-words&state=" + state, http.StatusOK},
			{http.MethodGet, back + "?code=x&state=" + state, http.StatusConflict},
		} {
			if status, said := visit(t, tc.method, tc.page); status != tc.want || strings.Contains(said, "secret-words") {
				t.Errorf("%s %s: %d %s", tc.method, tc.page, status, said)
			}
		}
		return nil
	}})
	if err == nil || !strings.Contains(err.Error(), "access_denied") || strings.Contains(err.Error(), "secret-words") {
		t.Errorf("got %v", err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests for a token", n)
	}
}

// TestSignInEndsWithoutCallback: the wait ends by its time, by its caller, and by who shows the page.
func TestSignInEndsWithoutCallback(t *testing.T) {
	s := oauthtest.New(t)
	b := New(nil, nil, Options{})
	in := SignIn{Provider: describe(s), Client: theClient(), Show: func(string) error { return nil }, Within: time.Millisecond}
	if _, err := b.SignIn(t.Context(), in); err == nil || !strings.Contains(err.Error(), "nobody signed in within 1ms") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in.Within, in.Show = 0, func(string) error { cancel(); return nil }
	if _, err := b.SignIn(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	broken := errors.New("no terminal")
	in.Show = func(string) error { return broken }
	if _, err := b.SignIn(t.Context(), in); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	in.Provider.OAuth2.Flow, in.Provider.OAuth2.AuthURL = ClientCredentials, ""
	if _, err := b.SignIn(t.Context(), in); err == nil {
		t.Error("an application signed in")
	}
}

// TestResource: the service that a token is for is named in each request, also in a refresh (RFC 8707).
func TestResource(t *testing.T) {
	var browsers sync.WaitGroup
	defer browsers.Wait()
	const resource = "https://mcp.example.com/mcp"
	s := oauthtest.New(t)
	s.Keeps = true
	p := describe(s)
	p.OAuth2.Resource = resource
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	b := New(nil, nil, Options{})
	var asked string
	got, err := b.SignIn(t.Context(), SignIn{Provider: p, Client: theClient(), Show: func(u string) error {
		page, err := url.Parse(u)
		asked = page.Query().Get("resource")
		browsers.Go(func() { visit(t, http.MethodGet, u) })
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	next, _, f := b.tokens(p).renewed(t.Context(), got.Credential, nil)
	if f != nil {
		t.Fatal(f)
	}
	if !s.Valid(string(next.Get(FieldAccessToken).Reveal())) || len(next.Get(FieldRefreshToken).Reveal()) == 0 {
		t.Errorf("the refreshed credential is %s", next)
	}
	requests := s.Requests()
	if asked != resource || len(requests) != 2 || requests[1].Get("grant_type") != "refresh_token" || requests[1].Has("code") {
		t.Errorf("consent was asked for %q, tokens by %v", asked, requests)
	}
	for i, r := range requests {
		if r.Get("resource") != resource {
			t.Errorf("request %d is for %q", i+1, r.Get("resource"))
		}
	}
	p.OAuth2.Flow, p.OAuth2.AuthURL = ClientCredentials, ""
	if _, _, _ = b.tokens(p).renewed(t.Context(), theClient(), nil); s.Requests()[2].Get("resource") != resource {
		t.Errorf("client credentials are asked for by %v", s.Requests()[2])
	}
	wrong := OAuth2{Flow: ClientCredentials, TokenURL: "https://id.example.com/token", Resource: "ftp://mcp.example.com"}
	if err := wrong.check(false); err == nil || !strings.Contains(err.Error(), "resource") {
		t.Errorf("a resource that is no https URL is refused with %v", err)
	}
}

// TestIssuer: the answer to a sign-in that names another issuer is not used, nor one that names none although each should (RFC 9207).
func TestIssuer(t *testing.T) {
	const own = "https://id.example.com"
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		o      OAuth2
		issuer *string
		want   bool
	}{
		"not known":            {OAuth2{}, text("https://evil.example"), true},
		"the same":             {OAuth2{Issuer: own}, text(own), true},
		"none":                 {OAuth2{Issuer: own}, nil, true},
		"none although it has": {OAuth2{Issuer: own, NamesIssuer: true}, nil, false},
		"another":              {OAuth2{Issuer: own}, text("https://evil.example"), false},
		"almost the same":      {OAuth2{Issuer: own, NamesIssuer: true}, text(own + "/"), false},
		"empty":                {OAuth2{Issuer: own}, text(""), false},
	} {
		if got := c.o.isFrom(consent{code: "c", issuer: c.issuer}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	s := oauthtest.New(t)
	p := describe(s)
	p.OAuth2.Issuer, p.OAuth2.NamesIssuer = s.URL, true
	var browsers sync.WaitGroup
	defer browsers.Wait()
	_, err := New(nil, nil, Options{}).SignIn(t.Context(), SignIn{Provider: p, Client: theClient(), Show: func(u string) error {
		browsers.Go(func() { visit(t, http.MethodGet, u) })
		return nil
	}})
	if err == nil || len(s.Requests()) > 0 {
		t.Errorf("an answer without an issuer is taken: %v after %v", err, s.Requests())
	}
}
