package submitter

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/toolspec"
)

// Keys finds the registered keys.
type Keys interface {
	// SubmitterKey returns the key of a tenant, whether it counts, and whether the proof, which expires at expiresAt, was valid in time: when
	// the call was admitted, or when the run of an agent began that has the call and the proof. public is nil if the tenant does not have
	// the key.
	SubmitterKey(ctx context.Context, tenantID, keyID, invocationID, proof string, expiresAt time.Time) (public ed25519.PublicKey, active, fresh bool, err error)
	// SubmitterKeyNow returns the same for a proof that must be good now.
	SubmitterKeyNow(ctx context.Context, tenantID, keyID string, expiresAt time.Time) (public ed25519.PublicKey, active, fresh bool, err error)
}

// Verifier verifies proofs.
type Verifier struct {
	keys   Keys
	parser *jwt.Parser
}

var _ admit.Submitters = (*Verifier)(nil)

// New makes a Verifier.
func New(keys Keys) *Verifier {
	// Times are judged by the database, everything else here.
	return &Verifier{keys: keys, parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding())}
}

// claims are the claims of a proof.
type claims struct {
	toolspec.SubmitterClaims
	jwt.RegisteredClaims
}

// Vouched verifies the proof of a call.
func (v *Verifier) Vouched(ctx context.Context, in admit.VouchRow) (keyID, fault string, err error) {
	return v.verify(in, func(keyID string, expiresAt time.Time) (ed25519.PublicKey, bool, bool, error) {
		return v.keys.SubmitterKey(ctx, in.Claims.TenantID, keyID, in.InvocationID, in.Proof, expiresAt)
	})
}

// VouchedNow reports whether a proof is valid now for all calls of a run, whose claims name no call.
func (v *Verifier) VouchedNow(ctx context.Context, proof string, of toolspec.SubmitterClaims) (bool, error) {
	keyID, _, err := v.verify(admit.VouchRow{Proof: proof, Claims: of}, func(keyID string, expiresAt time.Time) (ed25519.PublicKey, bool, bool, error) {
		return v.keys.SubmitterKeyNow(ctx, of.TenantID, keyID, expiresAt)
	})
	return keyID != "", err
}

// verify verifies a proof with the key that find returns, which also says whether the key counts and whether the proof was good in time.
func (v *Verifier) verify(in admit.VouchRow, find func(keyID string, expiresAt time.Time) (ed25519.PublicKey, bool, bool, error)) (keyID, fault string, err error) {
	if !toolspec.IsSubmitterProof(in.Proof) {
		return "", "it is not a token for " + toolspec.SubmitterAudience, nil
	}
	var c claims
	unverified, _, parsed := v.parser.ParseUnverified(in.Proof, &c)
	if parsed != nil {
		return "", "it cannot be read", nil //nolint:nilerr // a fault of the proof, and the words of the library may quote it
	}
	kid, named := unverified.Header["kid"].(string)
	if !named || c.ExpiresAt == nil {
		return "", "it names no key (kid) or no end (exp)", nil
	}
	public, active, fresh, err := find(kid, c.ExpiresAt.Time)
	if err != nil {
		return "", "", err
	}
	var signed claims
	if _, bad := v.parser.ParseWithClaims(in.Proof, &signed, func(*jwt.Token) (any, error) {
		if len(public) != ed25519.PublicKeySize {
			return nil, errors.New("no such key")
		}
		return public, nil
	}); bad != nil || !active {
		return "", "no submitter key of this tenant has signed it", nil //nolint:nilerr // which of the reasons it was is nobody's business
	}
	switch want := in.Claims; {
	case !fresh:
		return "", "it was over when the call was admitted", nil
	case signed.TenantID != want.TenantID, signed.RunID != want.RunID, signed.ActorID != want.ActorID, signed.SubjectID != want.SubjectID:
		return "", "it is of another tenant, run, actor or subject", nil
	case signed.ToolCallID != "" && signed.ToolCallID != want.ToolCallID, signed.InputDigest != "" && signed.InputDigest != want.InputDigest:
		return "", "it is of another call", nil
	}
	return kid, "", nil
}
