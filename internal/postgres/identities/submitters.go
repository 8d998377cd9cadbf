package identities

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
)

// Submitter is a key that may vouch for subjects.
type Submitter struct {
	KeyID     string     `json:"keyId"`
	Name      string     `json:"name"`
	AddedAt   time.Time  `json:"addedAt"`
	AddedBy   string     `json:"addedBy"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
	RevokedBy string     `json:"revokedBy,omitempty"`
}

type submitterKeyRow struct {
	PublicKey     []byte
	Active, Fresh bool
}

type trustedRow struct{ Trusted bool }

type submitterAddedRow struct{ Added bool }

// SubmitterKey returns a key of a tenant. active says whether the key is valid now. fresh says
// whether a proof that expires at expiresAt was valid when the call was admitted, or when the run
// of an agent that makes the call began. If the tenant does not have the key, public is empty.
func (s *Store) SubmitterKey(
	ctx context.Context, tenantID, keyID, invocationID, proof string, expiresAt time.Time,
) (public ed25519.PublicKey, active, fresh bool, err error) {
	row, _, err := db.First[submitterKeyRow](ctx, s.db, "submitter key", db.Query("SubmitterKey", db.Values{
		"tenant_id": db.Text(tenantID), "key_id": db.Text(keyID), "invocation_id": invocationID, "proof": db.Text(proof), "expires_at": expiresAt,
	}))
	return row.PublicKey, row.Active, row.Fresh, err
}

// SubmitterKeyNow returns a key of a tenant, and whether a proof that expires at expiresAt is valid now. If the tenant does not have
// the key, public is empty.
func (s *Store) SubmitterKeyNow(ctx context.Context, tenantID, keyID string, expiresAt time.Time) (public ed25519.PublicKey, active, fresh bool, err error) {
	row, _, err := db.First[submitterKeyRow](ctx, s.db, "submitter key", db.Query("SubmitterKeyNow", db.Values{
		"tenant_id": db.Text(tenantID), "key_id": db.Text(keyID), "expires_at": expiresAt,
	}))
	return row.PublicKey, row.Active, row.Fresh, err
}

// AddSubmitter registers a public key for a tenant. added is false if the key exists already. A
// revoked key cannot be added again.
func (s *Store) AddSubmitter(ctx context.Context, tenantID, name string, public ed25519.PublicKey, by string) (keyID string, added bool, err error) {
	if len(public) != ed25519.PublicKeySize {
		return "", false, errors.New("it is no Ed25519 key")
	}
	keyID = toolspec.SubmitterKeyID(public)
	row, _, err := db.First[submitterAddedRow](ctx, s.db, "add submitter", db.Query("AddSubmitter", db.Values{
		"tenant_id": db.Text(tenantID), "key_id": keyID, "name": db.Text(name), "public_key": []byte(public), "added_by": db.Text(by),
	}))
	return keyID, row.Added, err
}

// RevokeSubmitter revokes a key. Open calls with a subject get a recheck, so that the revocation
// also stops waiting calls that the key vouched for. RevokeSubmitter returns ErrNotFound if the
// tenant has no such valid key.
func (s *Store) RevokeSubmitter(ctx context.Context, tenantID, keyID, by string) error {
	row, err := recheck.Changing[removedRow](ctx, s.db, "revoke submitter", recheck.Filter{TenantID: tenantID, WithSubject: true}, db.Query("RevokeSubmitter", db.Values{
		"tenant_id": db.Text(tenantID), "key_id": db.Text(keyID), "revoked_by": db.Text(by),
	}))
	if err == nil && !row.Removed {
		return db.ErrNotFound
	}
	return err
}

// Submitters lists the keys of a tenant, oldest first.
func (s *Store) Submitters(ctx context.Context, tenantID string) ([]Submitter, error) {
	return db.All[Submitter](ctx, s.db, "submitters", db.Query("ListSubmitters", db.Values{"tenant_id": db.Text(tenantID)}))
}

// Trusting returns an engine that first checks whether the key that vouched for the subject is
// still valid, and then asks engine. An external engine cannot check the key. For a call
// without a subject it asks engine at once, without a query to the database.
func (s *Store) Trusting(engine authz.Port) authz.Port { return trusting{s, engine} }

type trusting struct {
	store  *Store
	engine authz.Port
}

// Check asks the engine if the call has no subject, or if the key that vouched for the subject is valid.
func (t trusting) Check(ctx context.Context, r authz.Request) (authz.Decision, error) {
	if r.SubjectID != "" {
		row, _, err := db.First[trustedRow](ctx, t.store.db, "authorize", db.Query("SubmitterTrusted", db.Values{"tenant_id": db.Text(r.TenantID), "key_id": db.Text(r.Submitter)}))
		if err != nil || !row.Trusted {
			return authz.Deny(authz.Trust), err
		}
	}
	return t.engine.Check(ctx, r)
}
