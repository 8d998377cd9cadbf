package proof

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Bounds of a proof.
const (
	// MaxLife is the longest time between issue and expiry.
	MaxLife = 24 * time.Hour
	// maxToken is the longest token that is looked at, in bytes.
	maxToken = 4096
	// leeway is how far the signer's clock may be ahead.
	leeway = time.Minute
)

const tokenType = "pawl-decision+jwt"

// claims are the registered claims of a JSON Web Token, and the hash of the decision as the nonce.
type claims struct {
	Nonce string `json:"nonce"`
	// ApprovalID is the approvalId of the decision. The hash covers it too, but a workflow does not compute the hash: it
	// compares this claim.
	ApprovalID string `json:"approvalId,omitempty"`
	jwt.RegisteredClaims
}

func audience(tenantID string) string { return "pawl:" + tenantID }

// Hash names a decision: the hexadecimal SHA-256 over the RFC 8785 JSON of all of it
// but the proof. It is an error where the edited arguments are no JSON, or JSON that
// has no canonical form.
func Hash(d toolspec.Decision) (string, error) {
	d.Proof = ""
	raw, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("proof: the edited arguments are not JSON: %w", err)
	}
	sum, err := strictjson.Digest(raw)
	if err != nil {
		return "", fmt.Errorf("proof: the decision has no canonical form: %w", err)
	}
	return sum, nil
}

// Sign returns the decision with a proof of the approver that it names, issued at the
// time and valid for life, at most MaxLife. The decision must carry the digest of the
// request: it is what the approver has seen.
func (s Signer) Sign(d toolspec.Decision, tenantID string, at time.Time, life time.Duration) (toolspec.Decision, error) {
	switch {
	case d.Digest == "":
		return d, errors.New("proof: the decision lacks the digest of the request; take it from the state query")
	case life <= 0 || life > MaxLife:
		return d, fmt.Errorf("proof: a proof lives for up to %s, not %s", MaxLife, life)
	}
	if err := d.Check(); err != nil {
		return d, fmt.Errorf("proof: %w", err)
	}
	nonce, err := Hash(d)
	if err != nil {
		return d, err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{Nonce: nonce, ApprovalID: d.ApprovalID, RegisteredClaims: jwt.RegisteredClaims{
		Subject: d.Approver, Audience: jwt.ClaimStrings{audience(tenantID)},
		IssuedAt: jwt.NewNumericDate(at), ExpiresAt: jwt.NewNumericDate(at.Add(life)),
	}})
	token.Header["typ"], token.Header["kid"] = tokenType, s.Key().ID()
	if d.Proof, err = token.SignedString(s.private); err != nil {
		return d, fmt.Errorf("proof: sign: %w", err)
	}
	return d, nil
}

// KeyID is the id of the key that a token says it is signed with, or empty. Nothing
// is verified.
func KeyID(token string) string {
	if len(token) > maxToken {
		return ""
	}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, &claims{})
	if err != nil || parsed.Header["typ"] != tokenType {
		return ""
	}
	id, _ := parsed.Header["kid"].(string)
	if len(id) != 43 {
		return ""
	}
	return id
}

// Registered is a key as the tenant knows it.
type Registered struct {
	Key Key
	// Identity is the approver who signs with the key.
	Identity string
	Revoked  bool
}

// Refusal says why a proof proves nothing; it is safe to show.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// The refusals.
const (
	Malformed    Refusal = "the proof is no token of the kind that Pawl signs; `pawl approve` makes one"
	UnknownKey   Refusal = "the proof is signed with a key that is not registered for this tenant"
	RevokedKey   Refusal = "the key of the proof was revoked"
	WrongKey     Refusal = "the signature of the proof does not hold"
	Expired      Refusal = "the proof has expired; sign the decision again"
	NotYet       Refusal = "the proof is of the future; set the clock of the signer"
	TooLong      Refusal = "the proof is valid for longer than 24 hours; sign for less"
	WrongTenant  Refusal = "the proof is for another tenant"
	WrongPerson  Refusal = "the proof is of somebody else than the decision names"
	WrongPayload Refusal = "the proof is of another decision"
)

// Verify returns nil if the proof of the decision is valid at now: the approver that the decision
// names has signed this decision of the tenant with the key. Any other result is a Refusal.
func Verify(d toolspec.Decision, tenantID string, key Registered, now time.Time) error {
	if len(d.Proof) > maxToken {
		return Malformed
	}
	var c claims
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithExpirationRequired(),
	)
	// The parser checks the signature and the expiry. The cases below check the other times.
	token, err := parser.ParseWithClaims(d.Proof, &c, func(*jwt.Token) (any, error) { return key.Key.public, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return WrongKey
	case errors.Is(err, jwt.ErrTokenExpired):
		return Expired
	case err != nil, token.Header["typ"] != tokenType, c.IssuedAt == nil:
		return Malformed
	case key.Revoked:
		return RevokedKey
	case c.IssuedAt.After(now.Add(leeway)):
		return NotYet
	case c.ExpiresAt.Sub(c.IssuedAt.Time) > MaxLife:
		return TooLong
	case !slices.Equal(c.Audience, jwt.ClaimStrings{audience(tenantID)}):
		return WrongTenant
	case c.Subject != d.Approver || key.Identity != d.Approver:
		return WrongPerson
	}
	if want, err := Hash(d); err != nil || c.Nonce != want || c.ApprovalID != "" && c.ApprovalID != d.ApprovalID {
		return WrongPayload
	}
	return nil
}
