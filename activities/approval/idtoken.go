package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// notVerified is the answer to the sender if the issuer of an ID token cannot be asked
// now.
const notVerified = "the ID token cannot be verified now; send the same decision again"

// noDigest is the refusal of an ID token for a decision without the digest of the
// request. Such a decision does not say which request the approver saw.
const noDigest = "a decision with an ID token must carry the digest of the request"

// IDTokens verifies ID tokens of OpenID Connect that a decision carries as its proof.
type IDTokens interface {
	// Identify verifies a token for a tenant. identity is the person that the issuer has
	// signed in, and keyID is the ID of the issuer's key. If the token is not valid, both
	// are empty and fault says why; fault is safe to show. An error that is marked
	// errs.Transient means that the issuer cannot be asked now.
	Identify(ctx context.Context, in IDTokenRow) (identity, keyID, fault string, err error)
}

// IDTokenRow is an ID token, with the values for which the token must be valid.
type IDTokenRow struct {
	Proof    string
	TenantID string
	// Nonce is the hash of the decision. Now is the time of the database's clock.
	Nonce string
	Now   time.Time
}

// verifyIDToken verifies that d.Proof is an ID token of the approver for exactly this decision: the nonce of
// the token is the hash of the decision. It returns the ID of the issuer's key, or a refusal that is safe to
// show. An error is an error of Identify.
func (a *Approvals) verifyIDToken(ctx context.Context, open OpenRequest, tenantID string, d toolspec.Decision) (keyID, refusal string, err error) {
	if d.Digest == "" {
		return "", noDigest, nil
	}
	nonce, err := proof.Hash(d)
	if err != nil {
		// No token can name a decision that has no hash, so the answer is a refusal.
		return "", proof.WrongPayload.Error(), nil //nolint:nilerr // a refusal is an answer of the review, not an error
	}
	identity, keyID, fault, err := a.parts.IDTokens.Identify(ctx, IDTokenRow{Proof: d.Proof, TenantID: tenantID, Nonce: nonce, Now: open.Now})
	switch {
	case err != nil || fault != "":
		return "", fault, err
	case identity != d.Approver:
		// The token is valid, but for another person than the decision names.
		return "", fmt.Sprintf("the ID token is of %s, and the decision is of %s", toolspec.Quoted(identity), toolspec.Quoted(d.Approver)), nil
	}
	return keyID, "", nil
}
