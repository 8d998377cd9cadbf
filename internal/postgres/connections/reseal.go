package connections

import (
	"context"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// The rotation of keys uses the store.
var _ upkeep.Secrets = (*Store)(nil)

// KeyUse is the number of secrets that a key of a key ring has sealed.
type KeyUse struct {
	KeyID   int64 `json:"keyId"`
	Secrets int64 `json:"secrets"`
}

// resealedRow is a row of the statement ResealSecrets.
type resealedRow struct{ Resealed int }

// SecretsByKey counts the secrets of all tenants by the key that sealed them.
func (s *Store) SecretsByKey(ctx context.Context) ([]KeyUse, error) {
	return db.All[KeyUse](ctx, s.db, "secrets by key", db.Query("SecretsByKey", db.Values{}))
}

// SecretsToReseal returns up to limit secrets of all tenants that a key other than keyID has sealed.
// They are ordered by binding, and follow the binding previous.
func (s *Store) SecretsToReseal(ctx context.Context, keyID int64, previous broker.Binding, limit int) ([]broker.Sealed, error) {
	const op = "secrets to reseal"
	rows, err := db.All[sealedRow](ctx, s.db, op, db.Query("SecretsToReseal", db.Values{
		"key_id": keyID, "after_tenant": db.Text(previous.TenantID), "after_connection": db.Text(previous.ConnectionID), "after_version": previous.Version, "most": limit,
	}))
	if err != nil {
		return nil, err
	}
	return sealedOf(op, rows)
}

// ResealSecrets stores the same secrets, sealed with the key keyID, and returns the number
// stored. It skips a secret whose version or key has changed since it was read. The version
// stays the same, so no approval becomes stale.
func (s *Store) ResealSecrets(ctx context.Context, keyID int64, resealed []upkeep.Resealed) (int, error) {
	var tenants, connections []string
	var versions []int
	var keys []int64
	var sealed [][]byte
	for _, r := range resealed {
		tenants, connections = append(tenants, db.Text(r.TenantID)), append(connections, db.Text(r.ConnectionID))
		versions, keys, sealed = append(versions, r.Version), append(keys, r.Was), append(sealed, r.Bytes)
	}
	row, _, err := db.First[resealedRow](ctx, s.db, "reseal secrets", db.Query("ResealSecrets", db.Values{
		"key_id": keyID, "tenants": tenants, "connections": connections, "versions": versions, "keys": keys, "sealed": sealed,
	}))
	return row.Resealed, err
}

// AskReseal records in the audit trail who requested that every secret be sealed with a key. The
// workflow cannot record it: everybody with access to the namespace can start it under any name.
func (s *Store) AskReseal(ctx context.Context, keyID int64, by string) error {
	_, err := s.db.Exec(ctx, "ask for a reseal", db.Query("AskReseal", db.Values{"key_id": keyID, "by": db.Text(by)}))
	return err
}
