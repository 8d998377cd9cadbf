package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID is the client for which the tokens are.
const ClientID = "pawl"

// Provider is a provider with one key at a time.
type Provider struct {
	t      testing.TB
	server *httptest.Server

	mu    sync.Mutex
	key   jose.JSONWebKey
	keys  []any
	asked int
	serve http.HandlerFunc
	away  bool
}

// New starts a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t}
	p.Rotate()
	p.server = httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.server.Close)
	return p
}

// URL is the issuer.
func (p *Provider) URL() string { return p.server.URL }

// Away makes the provider break off every connection, or ends that.
func (p *Provider) Away(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// Serve makes f answer instead of the provider; nil ends that.
func (p *Provider) Serve(f http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serve = f
}

// Asked returns the number of requests for the keys of the provider.
func (p *Provider) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *Provider) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	away, serve, keys := p.away, p.serve, p.keys
	if r.URL.Path == "/keys" {
		p.asked++
	}
	p.mu.Unlock()
	if away {
		panic(http.ErrAbortHandler)
	}
	if serve != nil {
		serve(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		send(w, map[string]any{"issuer": p.URL(), "jwks_uri": p.URL() + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}})
	case "/keys":
		send(w, map[string]any{"keys": keys})
	default:
		http.NotFound(w, r)
	}
}

func send(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

// Rotate makes a new key the key in use, and no longer publishes the old one.
func (p *Provider) Rotate() {
	p.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, _ := strconv.Atoi(p.key.KeyID)
	p.use(jose.JSONWebKey{Key: private, KeyID: strconv.Itoa(n + 1), Algorithm: "ES256", Use: "sig"})
}

// Use makes a private key the key in use, and publishes it with the others.
func (p *Provider) Use(key jose.JSONWebKey, others ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.use(key, others...)
}

func (p *Provider) use(key jose.JSONWebKey, others ...any) {
	p.key, p.keys = key, append(slices.Clone(others), any(key.Public()))
}

// Claims returns the claims of a valid token for the person with the e-mail address and the nonce.
func (p *Provider) Claims(email, nonce string, at time.Time) map[string]any {
	return map[string]any{
		"iss": p.URL(), "aud": ClientID, "sub": "id-" + email, "email": email, "email_verified": true, "nonce": nonce,
		"iat": at.Unix(), "exp": at.Add(time.Hour).Unix(),
	}
}

// Token returns a valid token.
func (p *Provider) Token(email, nonce string, at time.Time) string {
	p.t.Helper()
	return p.Sign(p.Claims(email, nonce, at), nil)
}

// Sign signs any claims with the key in use, under its algorithm, with further members of the header.
func (p *Provider) Sign(claims, header map[string]any) string {
	p.t.Helper()
	p.mu.Lock()
	key := p.key
	p.mu.Unlock()
	return Signed(p.t, key, claims, header)
}

// Signed signs claims with a key of any kind.
func Signed(t testing.TB, key jose.JSONWebKey, claims, header map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	options := &jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{}}
	for name, value := range header {
		options.ExtraHeaders[jose.HeaderKey(name)] = value
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
