package oidc

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
)

const (
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// maxLife is the longest time between issue and expiry.
	maxLife = 24 * time.Hour
	// leeway is how far the issuer's clock may be ahead.
	leeway = time.Minute
	// maxKeyID bounds the id of a key, in bytes.
	maxKeyID = 256
)

// The reasons why a token proves nothing. They are safe to show.
const (
	malformed   = "the proof is neither a token that Pawl signs nor an ID token"
	badAlg      = "the ID token is not signed with a key pair of its issuer"
	untrusted   = "the ID token is of an issuer that is not trusted for this tenant"
	wrongClient = "the ID token is for another client than the one that this tenant trusts"
	expired     = "the ID token has expired; sign in again"
	notYet      = "the ID token is of the future"
	tooLong     = "the ID token is valid for longer than 24 hours"
	wrongNonce  = "the ID token is for another decision: its nonce must be the one that --print-nonce prints"
	decides     = "the ID token is for a decision: sign in without the nonce of a decision"
	unverified  = "the issuer has not verified the e-mail address in the ID token"
	nameless    = "the ID token lacks the claim that names a person"
	unfit       = "the ID token lacks a claim that its issuer's tokens must have"
	unknownKey  = "the ID token is signed with a key that its issuer does not have"
	wrongKey    = "the signature of the ID token does not hold"
)

// decisionNonce is the form of the nonce of every decision: a SHA-256, hexadecimal.
var decisionNonce = regexp.MustCompile(`^[0-9a-f]{64}$`)

// strict accepts only one encoding of each part of a token.
var strict = base64.RawURLEncoding.Strict()

// token is a token that was parsed and not verified.
type token struct {
	alg, keyID, kind string
	claims           claims
}

// claims are the claims of a token. Names are compared byte by byte.
type claims map[string]json.RawMessage

// read decodes the header and the claims of a JSON Web Token, and verifies nothing. ok is false if the text is longer than
// maxToken bytes, is not three parts of strict base64url, has a header or claims that are no JSON object, or has a kid that
// is no text of at most maxKeyID bytes.
func read(text string) (t token, ok bool) {
	parts := strings.Split(text, ".")
	if len(text) > maxToken || len(parts) != 3 || strings.ContainsAny(text, "\r\n") {
		return t, false
	}
	var decoded [3][]byte
	for i, part := range parts {
		var err error
		if decoded[i], err = strict.DecodeString(part); err != nil {
			return t, false
		}
	}
	header, payload := claims{}, claims{}
	if json.Unmarshal(decoded[0], &header) != nil || json.Unmarshal(decoded[1], &payload) != nil || payload == nil {
		return t, false
	}
	t.claims = payload
	t.alg, _ = header.text("alg")
	t.kind, _ = header.text("typ")
	keyID, isText := header.text("kid")
	if header["kid"] != nil && !isText || len(keyID) > maxKeyID {
		return t, false
	}
	t.keyID = keyID
	return t, true
}

// Nonce returns the nonce that a token claims, or "". It verifies nothing.
func Nonce(text string) string {
	t, ok := read(text)
	if !ok {
		return ""
	}
	nonce, _ := t.claims.text("nonce")
	return nonce
}

func (c claims) text(name string) (s string, ok bool) {
	raw, there := c[name]
	if !there || json.Unmarshal(raw, &s) != nil || string(raw) == "null" {
		return "", false
	}
	return s, true
}

// audience returns the claim aud, which is a text or a list of texts.
func (c claims) audience() (list []string) {
	if one, ok := c.text("aud"); ok {
		return []string{one}
	}
	if json.Unmarshal(c["aud"], &list) != nil {
		return nil
	}
	return list
}

// at returns the time in a claim, which is in seconds.
func (c claims) at(name string) (t time.Time, ok bool) {
	var seconds float64
	raw, there := c[name]
	if !there || string(raw) == "null" || json.Unmarshal(raw, &seconds) != nil || seconds < 1 || seconds > 1e11 {
		return t, false
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)), true
}

// client returns the one of the client ids for which the token is. A token for several clients must name the client
// that asked for it (azp).
func (c claims) client(ids []string) (id string, ok bool) {
	list := c.audience()
	id, named := c.text("azp")
	if c["azp"] == nil && len(list) == 1 {
		id, named = list[0], true
	}
	return id, named && slices.Contains(list, id) && slices.Contains(ids, id)
}

// forDecision returns why the token is not for the decision of in, or "".
func (c claims) forDecision(in approval.IDTokenRow) (fault string) {
	if nonce, ok := c.text("nonce"); !ok || nonce != in.Nonce || nonce == "" {
		return wrongNonce
	}
	return ""
}

// forReading returns why the token is not for reading, or "".
func (c claims) forReading(approval.IDTokenRow) (fault string) {
	if nonce, _ := c.text("nonce"); decisionNonce.MatchString(nonce) {
		return decides
	}
	return ""
}

// judge returns the identity that a token of the issuer names, or the fault of the token.
func (c claims) judge(i Issuer, in approval.IDTokenRow, fits func(claims, approval.IDTokenRow) string) (identity, fault string) {
	if fault := c.inTime(in.Now); fault != "" {
		return "", fault
	}
	if fault := fits(c, in); fault != "" {
		return "", fault
	}
	for name, want := range i.Require {
		if got, ok := c.text(name); !ok || got != want {
			return "", unfit
		}
	}
	if i.Claim == EmailClaim && string(c["email_verified"]) != "true" {
		return "", unverified
	}
	name, _ := c.text(i.Claim)
	identity, ok := i.identity(name)
	if !ok {
		return "", nameless
	}
	return identity, ""
}

func (c claims) inTime(now time.Time) (fault string) {
	ends, ok := c.at("exp")
	issued, also := c.at("iat")
	if !ok || !also {
		return malformed
	}
	from, bounded := c.at("nbf")
	switch {
	case c["nbf"] != nil && !bounded:
		return malformed
	case !now.Before(ends):
		return expired
	case issued.After(now.Add(leeway)), bounded && from.After(now.Add(leeway)):
		return notYet
	case ends.Sub(issued) > maxLife:
		return tooLong
	}
	return ""
}
