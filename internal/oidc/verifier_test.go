package oidc_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/oidc"
	"github.com/pawl-run/pawl/internal/oidc/oidctest"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const nonce = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func row(token string) approval.IDTokenRow {
	return approval.IDTokenRow{Proof: token, TenantID: "acme", Nonce: nonce, Now: now}
}

func issuer(p *oidctest.Provider) oidc.Issuer {
	return oidc.Issuer{Name: "corp", URL: p.URL(), ClientIDs: []string{oidctest.ClientID}, Tenants: []string{"acme"}}
}

func verifier(t testing.TB, issuers ...oidc.Issuer) *oidc.Verifier {
	t.Helper()
	v, err := oidc.New(issuers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	// The usual pace, but for a busy machine.
	v.Paced(10*time.Minute, 10*time.Second, time.Second, time.Minute, time.Minute)
	return v
}

// wantFault expects that a token is refused with words.
func wantFault(t *testing.T, v *oidc.Verifier, in approval.IDTokenRow, want string) {
	t.Helper()
	identity, keyID, fault, err := v.Identify(t.Context(), in)
	if err != nil || identity != "" || keyID != "" || !strings.Contains(fault, want) {
		t.Errorf("got %q, %q, %q, %v, want the fault %q", identity, keyID, fault, err, want)
	}
}

// wantIdentity expects that a token names somebody.
func wantIdentity(t *testing.T, v *oidc.Verifier, in approval.IDTokenRow, want string) {
	t.Helper()
	identity, keyID, fault, err := v.Identify(t.Context(), in)
	if err != nil || fault != "" || identity != want || !strings.HasPrefix(keyID, "oidc:corp:") {
		t.Errorf("got %q, %q, %q, %v, want %q", identity, keyID, fault, err, want)
	}
}

// wantAgain expects that nobody can tell.
func wantAgain(t *testing.T, v *oidc.Verifier, in approval.IDTokenRow, state string) {
	t.Helper()
	identity, _, fault, err := v.Identify(t.Context(), in)
	if identity != "" || fault != "" || !errs.IsTransient(err) || !strings.Contains(errs.Reason(err), state) {
		t.Errorf("got %q, %q, %v, want no answer because %q", identity, fault, err, state)
	}
}

func privateKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestIdentify: one way of being right, and each way of being wrong has its words.
func TestIdentify(t *testing.T) {
	p, other := oidctest.New(t), oidctest.New(t)
	as := func(change func(map[string]any)) string {
		c := p.Claims("ann@example.com", nonce, now)
		change(c)
		return p.Sign(c, nil)
	}
	with := func(name string, value any) string { return as(func(c map[string]any) { c[name] = value }) }
	without := func(name string) string { return as(func(c map[string]any) { delete(c, name) }) }
	plain := as(func(map[string]any) {})
	parts := strings.Split(plain, ".")
	moved := strings.Split(with("email", "bob@example.com"), ".")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	hmac := func(secret []byte) string {
		return oidctest.Signed(t, jose.JSONWebKey{Key: secret, Algorithm: "HS256", KeyID: "1"}, p.Claims("ann@example.com", nonce, now), nil)
	}
	stranger := jose.JSONWebKey{Key: privateKey(t), Algorithm: "ES256", KeyID: "1"}
	asStranger := func(header map[string]any) string {
		return oidctest.Signed(t, stranger, p.Claims("ann@example.com", nonce, now), header)
	}
	public, err := json.Marshal(stranger.Public())
	if err != nil {
		t.Fatal(err)
	}
	const ann = "oidc:corp:ann@example.com"
	for _, tc := range []struct {
		name, token string
		change      func(*oidc.Issuer, *approval.IDTokenRow)
		who, fault  string
	}{
		{"right", plain, nil, ann, ""},
		{"to the last second", plain, func(_ *oidc.Issuer, in *approval.IDTokenRow) { in.Now = now.Add(time.Hour - time.Second) }, ann, ""},
		{"for a list of one", with("aud", []string{"pawl"}), nil, ann, ""},
		{"for others too, asked for by this client", as(func(c map[string]any) { c["aud"], c["azp"] = []string{"api", "pawl"}, "pawl" }), nil, ann, ""},
		{"times with a fraction", with("iat", float64(now.Unix())+0.5), nil, ann, ""},
		{"of the type JWT", p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"typ": "JWT"}), nil, ann, ""},
		{"another claim", with("preferred_username", "ann"), func(i *oidc.Issuer, _ *approval.IDTokenRow) { i.Claim = "preferred_username" }, "oidc:corp:ann", ""},
		{"the subject, with an unverified address", with("email_verified", false), func(i *oidc.Issuer, _ *approval.IDTokenRow) { i.Claim = "sub" }, "oidc:corp:id-ann@example.com", ""},
		{"as a user", plain, func(i *oidc.Issuer, _ *approval.IDTokenRow) { i.As = "user:" }, "user:ann@example.com", ""},
		{"with what is required", with("hd", "example.com"), func(i *oidc.Issuer, _ *approval.IDTokenRow) { i.Require = map[string]string{"hd": "example.com"} }, ann, ""},
		{"every tenant's", plain, func(i *oidc.Issuer, in *approval.IDTokenRow) { i.Tenants, in.TenantID = []string{"*"}, "globex" }, ann, ""},

		{"of another issuer", other.Token("ann@example.com", nonce, now), nil, "", "not trusted"},
		{"of another issuer in its name", other.Sign(p.Claims("ann@example.com", nonce, now), nil), nil, "", "signature"},
		{"of no issuer", without("iss"), nil, "", "not trusted"},
		{"the issuer with a slash more", with("iss", p.URL()+"/"), nil, "", "not trusted"},
		{"the issuer under another name", as(func(c map[string]any) { c["Iss"] = c["iss"]; delete(c, "iss") }), nil, "", "not trusted"},
		{"in a foreign tenant", plain, func(_ *oidc.Issuer, in *approval.IDTokenRow) { in.TenantID = "globex" }, "", "not trusted"},
		{"for another client", with("aud", "api"), nil, "", "another client"},
		{"for nobody", without("aud"), nil, "", "another client"},
		{"for others too", with("aud", []string{"pawl", "api"}), nil, "", "another client"},
		{"for this client, asked for by another", with("azp", "api"), nil, "", "another client"},
		{"for this client, asked for by none", with("azp", 1), nil, "", "another client"},
		{"of another decision", with("nonce", strings.Repeat("0", 64)), nil, "", "another decision"},
		{"of no decision", without("nonce"), nil, "", "another decision"},
		{"a nonce that is no text", with("nonce", 1), nil, "", "another decision"},
		{"an empty nonce where none is wanted", with("nonce", ""), func(_ *oidc.Issuer, in *approval.IDTokenRow) { in.Nonce = "" }, "", "another decision"},
		{"expired", plain, func(_ *oidc.Issuer, in *approval.IDTokenRow) { in.Now = now.Add(time.Hour) }, "", "expired"},
		{"for ever", without("exp"), nil, "", "neither"},
		{"never issued", without("iat"), nil, "", "neither"},
		{"until no time", with("exp", "tomorrow"), nil, "", "neither"},
		{"until the end of time", with("exp", 1e300), nil, "", "neither"},
		{"for two days", with("exp", now.Add(48*time.Hour).Unix()), nil, "", "24 hours"},
		{"of the future", plain, func(_ *oidc.Issuer, in *approval.IDTokenRow) { in.Now = now.Add(-2 * time.Minute) }, "", "future"},
		{"not before tomorrow", with("nbf", now.Add(24*time.Hour).Unix()), nil, "", "future"},
		{"not before some day", with("nbf", "x"), nil, "", "neither"},
		{"an unverified address", with("email_verified", false), nil, "", "has not verified"},
		{"an address verified in words", with("email_verified", "true"), nil, "", "has not verified"},
		{"an address of which nothing is said", without("email_verified"), nil, "", "has not verified"},
		{"no address", without("email"), nil, "", "names a person"},
		{"an empty address", with("email", ""), nil, "", "names a person"},
		{"an address that nobody can read", with("email", "ann\u202e@example.com"), nil, "", "names a person"},
		{"two addresses", with("email", []string{"ann@example.com"}), nil, "", "names a person"},
		{"a very long name", with("email", strings.Repeat("a", 300)), nil, "", "names a person"},
		{"without what is required", plain, func(i *oidc.Issuer, _ *approval.IDTokenRow) { i.Require = map[string]string{"hd": "example.com"} }, "", "must have"},
		{"with something else than required", with("hd", "example.org"), func(i *oidc.Issuer, _ *approval.IDTokenRow) { i.Require = map[string]string{"hd": "example.com"} }, "", "must have"},

		{"with no signature", header(`{"alg":"none"}`) + "." + parts[1] + ".", nil, "", "key pair"},
		{"with no signature and another spelling", header(`{"alg":"NONE"}`) + "." + parts[1] + "." + parts[2], nil, "", "key pair"},
		{"with the public key as a password", hmac([]byte(strings.Repeat("k", 32))), nil, "", "key pair"},
		{"HMAC under the name of a key pair", strings.Replace(hmac([]byte(strings.Repeat("k", 32))), strings.Split(hmac(make([]byte, 32)), ".")[0], parts[0], 1), nil, "", "signature"},
		{"by a stranger under the issuer's key id", asStranger(nil), nil, "", "signature"},
		{"by a stranger who brings the key", asStranger(map[string]any{"jwk": json.RawMessage(public)}), nil, "", "signature"},
		{"by a stranger who says where the key is", asStranger(map[string]any{"jku": other.URL() + "/keys"}), nil, "", "signature"},
		{"an algorithm that the key is not for", strings.Replace(plain, parts[0], header(`{"alg":"ES384","kid":"1"}`), 1), nil, "", "does not have"},
		{"the signature of another", parts[0] + "." + moved[1] + "." + parts[2], nil, "", "signature"},
		{"cut off", parts[0] + "." + parts[1] + ".", nil, "", "signature"},
		{"something critical that nobody knows", p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"crit": []string{"x"}, "x": 1}), nil, "", "signature"},
		{"of an access token's type", p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"typ": "at+jwt"}), nil, "", "neither"},
		{"of a logout token's type", p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"typ": "logout+jwt"}), nil, "", "neither"},
		{"of the type that Pawl signs", p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"typ": "pawl-decision+jwt"}), nil, "", "neither"},
		{"with another ending that means the same", plain[:len(plain)-1] + "B", nil, "", "neither"},
		{"over two lines", parts[0] + ".\n" + parts[1] + "." + parts[2], nil, "", "neither"},
		{"as JSON", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, nil, "", "neither"},
		{"encrypted", plain + ".x.y", nil, "", "neither"},
		{"a word", "yes", nil, "", "neither"},
		{"null", "bnVsbA.bnVsbA.bnVsbA", nil, "", "neither"},
		{"a key id that is none", p.Sign(p.Claims("ann@example.com", nonce, now), map[string]any{"kid": 1}), nil, "", "neither"},
		{"too long", with("x", strings.Repeat("x", 16<<10)), nil, "", "neither"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i, in := issuer(p), row(tc.token)
			if tc.change != nil {
				tc.change(&i, &in)
			}
			if v := verifier(t, i); tc.fault != "" {
				wantFault(t, v, in, tc.fault)
			} else {
				wantIdentity(t, v, in, tc.who)
			}
		})
	}
}

// TestAlgorithms: whatever key pair an issuer signs with, also one that names no key, and keys beside it that nobody can use.
func TestAlgorithms(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret := jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32)), KeyID: "k", Algorithm: "HS256"}
	odd := []any{map[string]any{"kty": "new"}, 7, secret, jose.JSONWebKey{Key: privateKey(t).Public(), KeyID: "k", Use: "enc"}}
	for _, tc := range []struct {
		name, id, alg string
		key           any
		others        []any
		fault         string
	}{
		{"RSA", "k", "RS256", rsaKey, nil, ""},
		{"RSA with PSS", "k", "PS512", rsaKey, nil, ""},
		{"Ed25519", "k", "EdDSA", ed, nil, ""},
		{"beside odd keys", "k", "ES256", privateKey(t), odd, ""},
		{"one of two keys of that name", "k", "ES256", privateKey(t), []any{jose.JSONWebKey{Key: privateKey(t).Public(), KeyID: "k"}}, ""},
		{"without a name", "", "ES256", privateKey(t), []any{jose.JSONWebKey{Key: privateKey(t).Public(), KeyID: "other"}}, ""},
		{"a weak key", "k", "RS256", weak, []any{jose.JSONWebKey{Key: privateKey(t).Public(), KeyID: "other"}}, "does not have"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := oidctest.New(t)
			p.Use(jose.JSONWebKey{Key: tc.key, KeyID: tc.id, Algorithm: tc.alg}, tc.others...)
			v, in := verifier(t, issuer(p)), row(p.Token("ann@example.com", nonce, now))
			if tc.fault != "" {
				wantFault(t, v, in, tc.fault)
				return
			}
			wantIdentity(t, v, in, "oidc:corp:ann@example.com")
		})
	}
}

// FuzzIdentify: nothing but what the issuer signed names anybody, and nothing panics.
func FuzzIdentify(f *testing.F) {
	p := oidctest.New(f)
	v := verifier(f, issuer(p))
	v.Paced(time.Hour, time.Hour, time.Hour, time.Minute, time.Minute)
	right := p.Token("ann@example.com", nonce, now)
	if _, _, fault, err := v.Identify(f.Context(), row(right)); err != nil || fault != "" {
		f.Fatal(fault, err)
	}
	parts := strings.Split(right, ".")
	for _, seed := range []string{right, "", "..", "a.b.c", right + ".", right[:len(right)-1], parts[0] + "..", p.Sign(p.Claims("bob@example.com", nonce, now), nil)[:40]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		identity, keyID, fault, err := v.Identify(t.Context(), row(token))
		if (identity != "") != (token == right) || (identity == "") != (fault != "" || err != nil) || (identity == "") != (keyID == "") || err != nil && !errs.IsTransient(err) {
			t.Errorf("%q: %q, %q, %q, %v", token, identity, keyID, fault, err)
		}
		_ = oidc.Nonce(token)
	})
}
