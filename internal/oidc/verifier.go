package oidc

import (
	"context"
	"crypto"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/pawl-run/pawl/activities/approval"
)

// algorithms are the signature algorithms for which only the holder of a private key can sign.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// Verifier verifies ID tokens.
type Verifier struct {
	issuers []Issuer
	keys    map[string]*keySet // by the issuer's URL
	client  *http.Client
}

var _ approval.IDTokens = (*Verifier)(nil)

// New makes a Verifier for up to 16 issuers. It sends no request: an issuer that does not answer at the start is like one that does not
// answer later.
func New(issuers ...Issuer) (*Verifier, error) {
	if len(issuers) > maxIssuers {
		return nil, fmt.Errorf("oidc: there are %d issuers, and at most %d", len(issuers), maxIssuers)
	}
	v := &Verifier{keys: map[string]*keySet{}, client: newClient()}
	for _, i := range issuers {
		i, err := i.complete()
		if err != nil {
			return nil, err
		}
		for _, other := range v.issuers {
			if err := i.collides(other); err != nil {
				return nil, err
			}
		}
		v.issuers = append(v.issuers, i)
		if v.keys[i.URL] == nil {
			v.keys[i.URL] = &keySet{name: i.Name, issuer: i.URL, client: v.client, pace: defaultPace()}
		}
	}
	return v, nil
}

// Issuers returns the trusted issuers, with default values for the fields that were left out.
func (v *Verifier) Issuers() []Issuer { return slices.Clone(v.issuers) }

// Close ends the connections that are idle.
func (v *Verifier) Close() { v.client.CloseIdleConnections() }

// Identify verifies a token. It first checks all that needs no key, so that an invalid token causes no request to an issuer.
func (v *Verifier) Identify(ctx context.Context, in approval.IDTokenRow) (identity, keyID, fault string, err error) {
	identity, keyID, fault, _, err = v.verify(ctx, in, claims.forDecision)
	return identity, keyID, fault, err
}

// Viewer verifies a token with which a person reads, at the time now, and returns the identity of that person and when the token expires.
// The token needs no nonce. Viewer refuses a token for a decision: the history of the call has that token, and a reader of the history
// could use it. A fault says why the token proves nothing, in words that are safe to show.
func (v *Verifier) Viewer(ctx context.Context, tenantID, token string, now time.Time) (identity string, expires time.Time, fault string, err error) {
	identity, _, fault, expires, err = v.verify(ctx, approval.IDTokenRow{Proof: token, TenantID: tenantID, Now: now}, claims.forReading)
	return identity, expires, fault, err
}

func (v *Verifier) verify(ctx context.Context, in approval.IDTokenRow, fits func(claims, approval.IDTokenRow) string) (
	identity, keyID, fault string, expires time.Time, err error,
) {
	t, ok := read(in.Proof)
	switch kind := strings.ToLower(t.kind); {
	case !ok, kind != "" && kind != "jwt":
		return "", "", malformed, expires, nil
	case !slices.Contains(algorithms, t.alg):
		return "", "", badAlg, expires, nil
	}
	i, fault := v.issuer(t.claims, in.TenantID)
	if fault != "" {
		return "", "", fault, expires, nil
	}
	if identity, fault = t.claims.judge(i, in, fits); fault != "" {
		return "", "", fault, expires, nil
	}
	key, fault, err := v.signer(ctx, i, t, in)
	if err != nil || fault != "" {
		return "", "", fault, expires, err
	}
	expires, _ = t.claims.at("exp")
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return "", "", wrongKey, expires, nil //nolint:nilerr // a key without a name has signed nothing
	}
	return identity, Prefix + i.Name + ":" + base64.RawURLEncoding.EncodeToString(sum), "", expires, nil
}

// issuer returns the issuer that the token names, if the tenant trusts it.
func (v *Verifier) issuer(c claims, tenantID string) (found Issuer, fault string) {
	url, _ := c.text("iss")
	fault = untrusted
	for _, i := range v.issuers {
		if i.URL != url || !i.trustedBy(tenantID) {
			continue
		}
		if _, ok := c.client(i.ClientIDs); ok {
			return i, ""
		}
		fault = wrongClient
	}
	return found, fault
}

// signer returns the key of the issuer that has signed the token. If a token names no key, any key of the issuer may have signed it.
func (v *Verifier) signer(ctx context.Context, i Issuer, t token, in approval.IDTokenRow) (key jose.JSONWebKey, fault string, err error) {
	set := v.keys[i.URL]
	keys, fresh, err := set.find(ctx, t.keyID, t.alg)
	if err != nil {
		return key, "", err
	}
	client, _ := t.claims.client(i.ClientIDs)
	key, ok := signedBy(ctx, i, client, keys, in)
	if !ok && !fresh && t.keyID == "" {
		if keys, err = set.ask(ctx, "", t.alg); err != nil {
			return key, "", err
		}
		key, ok = signedBy(ctx, i, client, keys, in)
	}
	switch {
	case ok:
		return key, "", nil
	case len(keys) == 0:
		return key, unknownKey, nil
	default:
		return key, wrongKey, nil
	}
}

// signedBy returns the key that has signed the token.
func signedBy(ctx context.Context, i Issuer, client string, keys []jose.JSONWebKey, in approval.IDTokenRow) (jose.JSONWebKey, bool) {
	for _, key := range keys {
		verifier := oidc.NewVerifier(i.URL, &oidc.StaticKeySet{PublicKeys: []crypto.PublicKey{key.Key}}, &oidc.Config{
			ClientID: client, SupportedSigningAlgs: algorithms, Now: func() time.Time { return in.Now },
		})
		if _, err := verifier.Verify(ctx, in.Proof); err == nil {
			return key, true
		}
	}
	return jose.JSONWebKey{}, false
}
