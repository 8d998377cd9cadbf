package client

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// SubmitterKeyID names the key of a submitter: the first 32 hexadecimal digits of the
// SHA-256 of its public half.
func SubmitterKeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:])[:32]
}

// Vouch signs that the actor of a call acts for its subject, for exactly this call, and
// puts the proof into it. It is for servers that know who their user is: whoever holds
// the key can act for anybody who has delegated to an actor. The call has to be admitted
// within lasts.
func Vouch(inv *toolspec.Invocation, key ed25519.PrivateKey, lasts time.Duration) error {
	if inv.Context.SubjectID == "" {
		return errors.New("client: the call has no subject to vouch for")
	}
	if len(key) != ed25519.PrivateKeySize || lasts <= 0 {
		return errors.New("client: a proof needs an Ed25519 key and a time")
	}
	digest, err := hydrate.InputDigest(*inv)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	c := inv.Context
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, struct {
		toolspec.SubmitterClaims
		jwt.RegisteredClaims
	}{
		toolspec.SubmitterClaims{
			TenantID: c.TenantID, RunID: c.RunID, ActorID: c.ActorID, SubjectID: c.SubjectID, ToolCallID: inv.ToolCallID, InputDigest: digest,
		},
		jwt.RegisteredClaims{Audience: jwt.ClaimStrings{toolspec.SubmitterAudience}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(lasts))},
	})
	token.Header["kid"] = SubmitterKeyID(key.Public().(ed25519.PublicKey)) //nolint:errcheck,forcetypeassert // it is always that
	inv.SubmitterProof, err = token.SignedString(key)
	if err != nil {
		return fmt.Errorf("client: sign the proof: %w", err)
	}
	return nil
}
