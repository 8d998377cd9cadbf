package proof_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const digest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func approval() toolspec.Decision {
	return toolspec.Decision{
		ApprovalID: "1b4e28ba-2fa1-51d2-883f-0016d3cca427.1", Decision: toolspec.Approve, Approver: "user:ann", Digest: digest, Reason: "looks right",
	}
}

func signer(t testing.TB) proof.Signer {
	t.Helper()
	s, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func signed(t testing.TB, s proof.Signer) toolspec.Decision {
	t.Helper()
	d, err := s.Sign(approval(), "acme", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func registered(s proof.Signer) proof.Registered {
	return proof.Registered{Key: s.Key(), Identity: "user:ann"}
}

// forged signs any claims with any header.
func forged(t testing.TB, method jwt.SigningMethod, key any, header, claims map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	for k, v := range header {
		token.Header[k] = v
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestVerify: one way of being right, and each way of being wrong has its words.
func TestVerify(t *testing.T) {
	s, other := signer(t), signer(t)
	right := signed(t, s)
	if id := proof.KeyID(right.Proof); id != s.Key().ID() {
		t.Errorf("the token names the key %q, not %q", id, s.Key().ID())
	}
	type given struct {
		d      toolspec.Decision
		tenant string
		key    proof.Registered
		now    time.Time
	}
	for _, tc := range []struct {
		name   string
		change func(*given)
		want   error
	}{
		{"right", func(*given) {}, nil},
		{"to the last second", func(g *given) { g.now = now.Add(time.Hour - time.Second) }, nil},
		{"a signer that is a little ahead", func(g *given) { g.now = now.Add(-time.Minute) }, nil},
		{"a signer that is far ahead", func(g *given) { g.now = now.Add(-2 * time.Minute) }, proof.NotYet},
		{"expired", func(g *given) { g.now = now.Add(time.Hour) }, proof.Expired},
		{"another tenant", func(g *given) { g.tenant = "globex" }, proof.WrongTenant},
		{"another key", func(g *given) { g.key.Key = other.Key() }, proof.WrongKey},
		{"a key that was revoked", func(g *given) { g.key.Revoked = true }, proof.RevokedKey},
		{"somebody else's key", func(g *given) { g.key.Identity = "user:bob" }, proof.WrongPerson},
		{"in another name", func(g *given) { g.d.Approver = "user:bob" }, proof.WrongPerson},
		{"in another name, with that one's key", func(g *given) { g.d.Approver, g.key.Identity = "user:bob", "user:bob" }, proof.WrongPerson},
		{"on another request", func(g *given) { g.d.ApprovalID = "1b4e28ba-2fa1-51d2-883f-0016d3cca427.2" }, proof.WrongPayload},
		{"another verb", func(g *given) { g.d.Decision = toolspec.Deny }, proof.WrongPayload},
		{"another digest", func(g *given) { g.d.Digest = strings.Repeat("0", 64) }, proof.WrongPayload},
		{"no digest", func(g *given) { g.d.Digest = "" }, proof.WrongPayload},
		{"another reason", func(g *given) { g.d.Reason = "" }, proof.WrongPayload},
		{"remembered on top", func(g *given) { g.d.Remember = true }, proof.WrongPayload},
		{"other arguments", func(g *given) { g.d.EditedArgs = json.RawMessage(`{"a":1}`) }, proof.WrongPayload},
		{"no proof", func(g *given) { g.d.Proof = "" }, proof.Malformed},
		{"a word", func(g *given) { g.d.Proof = "yes" }, proof.Malformed},
		{"too long", func(g *given) { g.d.Proof += strings.Repeat("A", 4096) }, proof.Malformed},
		{"a changed signature", func(g *given) { g.d.Proof = flip(g.d.Proof) }, proof.WrongKey},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := given{right, "acme", registered(s), now}
			tc.change(&g)
			if err := proof.Verify(g.d, g.tenant, g.key, g.now); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// flip changes a bit of the signature.
func flip(token string) string {
	i := strings.LastIndexByte(token, '.')
	raw, _ := base64.RawURLEncoding.DecodeString(token[i+1:])
	raw[0] ^= 1
	return token[:i+1] + base64.RawURLEncoding.EncodeToString(raw)
}

// TestForgedTokens: tokens that Sign never makes.
func TestForgedTokens(t *testing.T) {
	s := signer(t)
	d := approval()
	nonce, err := proof.Hash(d)
	if err != nil {
		t.Fatal(err)
	}
	pemText, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(pemText)
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claims := func(change func(map[string]any)) map[string]any {
		c := map[string]any{"sub": d.Approver, "aud": []string{"pawl:acme"}, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "nonce": nonce}
		change(c)
		return c
	}
	same := func(map[string]any) {}
	header := map[string]any{"typ": "pawl-decision+jwt", "kid": s.Key().ID()}
	for _, tc := range []struct {
		name  string
		token string
		want  error
	}{
		{"as Sign makes it", forged(t, jwt.SigningMethodEdDSA, private, header, claims(same)), nil},
		{"alg none", forged(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, header, claims(same)), proof.WrongKey},
		{"the public key as a shared secret", forged(t, jwt.SigningMethodHS256, s.Key().Bytes(), header, claims(same)), proof.WrongKey},
		{"RSA", forged(t, jwt.SigningMethodRS256, rsaKey, header, claims(same)), proof.WrongKey},
		{"another kind of token", forged(t, jwt.SigningMethodEdDSA, private, map[string]any{"typ": "JWT"}, claims(same)), proof.Malformed},
		{"for ever", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { delete(c, "exp") })), proof.Malformed},
		{"for two days", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { c["exp"] = now.Add(48 * time.Hour).Unix() })), proof.TooLong},
		{"never issued", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { delete(c, "iat") })), proof.Malformed},
		{"not before tomorrow", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { c["nbf"] = now.Add(24 * time.Hour).Unix() })), proof.Malformed},
		{"for two tenants", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { c["aud"] = []string{"pawl:acme", "pawl:globex"} })), proof.WrongTenant},
		{"for nobody", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { delete(c, "aud") })), proof.WrongTenant},
		{"without a nonce", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { delete(c, "nonce") })), proof.WrongPayload},
		{"a nonce that is no text", forged(t, jwt.SigningMethodEdDSA, private, header, claims(func(c map[string]any) { c["nonce"] = 1 })), proof.Malformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			with := d
			with.Proof = tc.token
			if err := proof.Verify(with, "acme", registered(s), now); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestSignRefuses(t *testing.T) {
	s := signer(t)
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Decision)
		life   time.Duration
		want   string
	}{
		{"no digest", func(d *toolspec.Decision) { d.Digest = "" }, time.Hour, "lacks the digest"},
		{"no life", func(*toolspec.Decision) {}, 0, "lives for up to"},
		{"a long life", func(*toolspec.Decision) {}, 25 * time.Hour, "lives for up to"},
		{"malformed", func(d *toolspec.Decision) { d.Decision = "allow" }, time.Hour, "decision must be"},
		{"a key twice", func(d *toolspec.Decision) {
			d.Decision, d.EditedArgs = toolspec.Edit, json.RawMessage(`{"a":1,"a":2}`)
		}, time.Hour, "canonical form"},
	} {
		d := approval()
		tc.change(&d)
		if _, err := s.Sign(d, "acme", now, tc.life); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestKeyForms: keys survive their forms, and a private one shows itself in none.
func TestKeyForms(t *testing.T) {
	s := signer(t)
	private, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	public, err := s.Key().Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := proof.ParseSigner(private)
	if err != nil || again.Key().ID() != s.Key().ID() {
		t.Errorf("%v, %v", again, err)
	}
	key, err := proof.ParseKey(public)
	if err != nil || key.ID() != s.Key().ID() {
		t.Errorf("%v, %v", key, err)
	}
	if raw, err := proof.KeyOf(key.Bytes()); err != nil || raw.ID() != key.ID() || len(key.ID()) != 43 {
		t.Errorf("%v, %v", raw, err)
	}
	block, _ := pem.Decode(private)
	marshalled, err := json.Marshal(map[string]any{"key": s})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %x %q", s, s, s, s), string(marshalled), s.String()} {
		for _, secret := range []string{base64.StdEncoding.EncodeToString(block.Bytes), fmt.Sprintf("%x", block.Bytes[16:])} {
			if strings.Contains(shown, secret) || !strings.Contains(shown, s.Key().ID()) {
				t.Errorf("a key shows as %s", shown)
			}
		}
	}
	if _, err := proof.ParseKey(private); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("a private key as a public one: %v", err)
	}
	for _, text := range []string{"", "x", string(public)} {
		if _, err := proof.ParseSigner([]byte(text)); err == nil {
			t.Errorf("%q passes for a private key", text)
		}
	}
	for _, text := range []string{"", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := proof.ParseKey([]byte(text)); err == nil {
			t.Errorf("%q passes for a public key", text)
		}
	}
	if _, err := proof.KeyOf(make([]byte, 31)); err == nil {
		t.Error("31 bytes pass for a key")
	}
}

// TestThumbprint is the example of RFC 8037, appendix A.3.
func TestThumbprint(t *testing.T) {
	raw, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.KeyOf(raw)
	if err != nil {
		t.Fatal(err)
	}
	if id := key.ID(); id != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Error(id)
	}
}

// FuzzVerify: no text is a proof but the signed one.
func FuzzVerify(f *testing.F) {
	s := signer(f)
	right := signed(f, s)
	for _, seed := range []string{"", "a.b.c", right.Proof, flip(right.Proof), right.Proof + ".", strings.ToUpper(right.Proof)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		d := right
		d.Proof = token
		if err := proof.Verify(d, "acme", registered(s), now); (err == nil) != (token == right.Proof) {
			t.Errorf("%q: %v", token, err)
		}
		if id := proof.KeyID(token); id != "" && len(id) != 43 {
			t.Errorf("the key id %q", id)
		}
	})
}
