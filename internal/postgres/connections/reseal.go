package connections

import (
	"context"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// The store is what a rotation of keys works on.
var _ upkeep.Secrets = (*Store)(nil)

// KeyUse is how many secrets a key of a key ring has sealed.
type KeyUse struct {
	KeyID   int64 `json:"keyId"`
	Secrets int64 `json:"secrets"`
}

// resealedRow is the row of ResealSecrets.
type resealedRow struct{ Resealed int }

// SecretsByKey counts the secrets of all tenants by the keys that sealed them.
func (s *Store) SecretsByKey(ctx context.Context) ([]KeyUse, error) {
	return db.All[KeyUse](ctx, s.db, "secrets by key", db.Query("SecretsByKey", db.Values{}))
}

// SecretsToReseal returns up to most secrets, of all tenants, that another key sealed, in the order of their places and from the one after
// that place on.
func (s *Store) SecretsToReseal(ctx context.Context, keyID int64, after broker.Binding, most int) ([]broker.Sealed, error) {
	const op = "secrets to reseal"
	rows, err := db.All[sealedRow](ctx, s.db, op, db.Query("SecretsToReseal", db.Values{
		"key_id": keyID, "after_tenant": db.Text(after.TenantID), "after_connection": db.Text(after.ConnectionID), "after_version": after.Version, "most": most,
	}))
	if err != nil {
		return nil, err
	}
	return sealedOf(op, rows)
}

// ResealSecrets puts the same secrets there as the key has sealed them, and returns how many. One whose version or key is not the one that
// it was sealed anew from any more stays as it is: somebody else was faster. The version stays, so no approval gets stale.
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

// AskReseal notes in the audit trail who asks for every secret to be sealed with a key. The workflow that does it cannot tell: anybody in
// the namespace may start it, with any name.
func (s *Store) AskReseal(ctx context.Context, keyID int64, by string) error {
	_, err := s.db.Exec(ctx, "ask for a reseal", db.Query("AskReseal", db.Values{"key_id": keyID, "by": db.Text(by)}))
	return err
}
