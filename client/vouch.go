package client

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// Vouch signs that the actor of a call acts for its subject, for this call only, and adds the proof
// to the call. It is for servers that have authenticated their user. The key lets its holder act
// for every subject that has delegated to an actor. The call must be admitted within lasts.
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
	token.Header["kid"] = toolspec.SubmitterKeyID(key.Public().(ed25519.PublicKey)) //nolint:errcheck,forcetypeassert // it is always that
	inv.SubmitterProof, err = token.SignedString(key)
	if err != nil {
		return fmt.Errorf("client: sign the proof: %w", err)
	}
	return nil
}
