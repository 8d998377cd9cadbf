package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// notVerified is what the sender hears while nobody can say whether an ID token holds.
const notVerified = "the ID token cannot be verified now; send the same decision again"

// noDigest refuses an ID token over a decision that does not say what was seen.
const noDigest = "a decision with an ID token must carry the digest of the request"

// IDTokens verify ID tokens of OpenID Connect that stand in the place of a proof.
type IDTokens interface {
	// Identify verifies a token of a tenant. identity is whom its issuer has signed in,
	// and keyID the issuer's key; where the token is not good, both are empty and fault
	// says why, in words that are safe to show. hook.Transient marks an issuer that
	// cannot be asked now.
	Identify(ctx context.Context, in IDTokenRow) (identity, keyID, fault string, err error)
}

// IDTokenRow is an ID token with what it has to be good for.
type IDTokenRow struct {
	Proof    string
	TenantID string
	// Nonce is the hash of the decision, and Now the database's clock.
	Nonce string
	Now   time.Time
}

// signedIn verifies that the approver has signed in to decide just this.
func (a *Activities) signedIn(ctx context.Context, open OpenRequest, tenantID string, d toolspec.Decision) (keyID, refusal string, err error) {
	if d.Digest == "" {
		return "", noDigest, nil
	}
	nonce, err := proof.Hash(d)
	if err != nil {
		return "", proof.WrongPayload.Error(), nil //nolint:nilerr // what has no hash is no decision that anybody has signed
	}
	identity, keyID, fault, err := a.config.IDTokens.Identify(ctx, IDTokenRow{Proof: d.Proof, TenantID: tenantID, Nonce: nonce, Now: open.Now})
	switch {
	case err != nil || fault != "":
		return "", fault, err
	case identity != d.Approver:
		return "", fmt.Sprintf("the ID token is of %s, and the decision is of %s", identity, d.Approver), nil
	}
	return keyID, "", nil
}
