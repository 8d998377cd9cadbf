package identities

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/proof"
)

// ErrKeyTaken means that a key is registered for another identity, or was revoked.
var ErrKeyTaken = errors.New("postgres: the key cannot be registered")

// KeyRecord is the public key of an approver.
type KeyRecord struct {
	KeyID        string     `json:"keyId"`
	Identity     string     `json:"identity"`
	PublicKey    []byte     `json:"publicKey"`
	RegisteredAt time.Time  `json:"registeredAt"`
	RegisteredBy string     `json:"registeredBy"`
	RevokedAt    *time.Time `json:"revokedAt,omitempty"`
	RevokedBy    string     `json:"revokedBy,omitempty"`
}

// registerRow is a row of the statement RegisterKey.
type registerRow struct {
	Identity       string
	Revoked, Added bool
}

// revokeRow is a row of the statement RevokeKey.
type revokeRow struct {
	Identity string
	Revoked  bool
}

// RegisterKey lets an identity of the tenant sign with a key. by is the person who
// registered it, for the audit trail. A repeated call changes nothing. RegisterKey returns ErrKeyTaken if
// the key belongs to another identity or was revoked.
func (s *Store) RegisterKey(ctx context.Context, tenantID, identity string, key proof.Key, by string) error {
	row, _, err := db.First[registerRow](ctx, s.db, "register key", db.Query("RegisterKey", db.Values{
		"tenant_id": db.Text(tenantID), "key_id": key.ID(), "identity": db.Text(identity), "public_key": key.Bytes(), "registered_by": db.Text(by),
	}))
	if err == nil && !row.Added && (row.Revoked || row.Identity != identity) {
		return ErrKeyTaken
	}
	return err
}

// RevokeKey revokes a key and returns its identity. revoked is false if the key was revoked
// before. RevokeKey returns ErrNotFound if the tenant has no such key.
func (s *Store) RevokeKey(ctx context.Context, tenantID, keyID, by string) (identity string, revoked bool, err error) {
	row, found, err := db.First[revokeRow](ctx, s.db, "revoke key", db.Query("RevokeKey", db.Values{
		"tenant_id": db.Text(tenantID), "key_id": db.Text(keyID), "revoked_by": db.Text(by),
	}))
	if err == nil && !found {
		err = db.ErrNotFound
	}
	return row.Identity, row.Revoked, err
}

// Keys returns the keys of a tenant, ordered by identity, including revoked keys.
func (s *Store) Keys(ctx context.Context, tenantID string) ([]KeyRecord, error) {
	return db.All[KeyRecord](ctx, s.db, "keys", db.Query("ListKeys", db.Values{"tenant_id": db.Text(tenantID)}))
}
