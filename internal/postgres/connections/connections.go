package connections

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/workflows/contract"
)

// The store is what brokers ask.
var _ broker.Store = (*Store)(nil)

// ErrTaken says that the tenant has, or had, a connection of that id: ids are not used again.
var ErrTaken = errors.New("postgres: the connection exists")

// AddRow is a connection to add, with its sealed secret.
type AddRow struct {
	Provider broker.Provider
	Hosts    []string
	Scopes   []string
	Sealed   broker.Sealed
	// SignedIn says that the secret is usable; else somebody has to sign in first.
	SignedIn bool
}

// Record is a connection, without its secret.
type Record struct {
	ConnectionID string      `json:"connectionId"`
	Provider     string      `json:"provider"`
	Kind         broker.Kind `json:"kind"`
	Hosts        []string    `json:"hosts"`
	Scopes       []string    `json:"scopes"`
	Status       string      `json:"status"`
	Generation   int         `json:"generation"`
	// SecretVersion counts the secrets that there were; KeyID sealed this one.
	SecretVersion int   `json:"secretVersion"`
	KeyID         int64 `json:"keyId,omitempty"`
	// TokenExpiresAt is when the access token ends.
	TokenExpiresAt *time.Time `json:"tokenExpiresAt,omitempty"`
	AddedAt        time.Time  `json:"addedAt"`
	AddedBy        string     `json:"addedBy"`
	RevokedAt      *time.Time `json:"revokedAt,omitempty"`
	RevokedBy      string     `json:"revokedBy,omitempty"`
	// Grants counts those that stand.
	Grants int64 `json:"grants"`
}

// GrantRecord is who may use a connection.
type GrantRecord struct {
	ID           string     `json:"grantId"`
	ConnectionID string     `json:"connectionId"`
	Grantee      string     `json:"grantee"`
	Scopes       []string   `json:"scopes"`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty"`
	Expired      bool       `json:"expired,omitempty"`
	GrantedAt    time.Time  `json:"grantedAt"`
	GrantedBy    string     `json:"grantedBy"`
	RevokedAt    *time.Time `json:"revokedAt,omitempty"`
	RevokedBy    string     `json:"revokedBy,omitempty"`
}

// connectionRow is the row of ListConnections.
type connectionRow struct {
	ConnectionID, Provider    string
	Settings                  json.RawMessage
	Hosts, Scopes             []string
	Status                    string
	Generation, SecretVersion int
	KeyID                     *int64
	SecretExpiresAt           *time.Time
	AddedAt                   time.Time
	AddedBy                   string
	RevokedAt                 *time.Time
	RevokedBy                 string
	Grants                    int64
}

// keptRow is what rows say of a connection with its secret.
type keptRow struct {
	Settings      json.RawMessage
	Hosts, Scopes []string
	Generation    int
	Version       int
	KeyID         int64
	Sealed        []byte
}

// record is the connection of that place.
func (r keptRow) record(op, tenantID, connectionID string) (broker.Record, error) {
	p, err := db.Decoded[broker.Provider](r.Settings)
	if err != nil {
		return broker.Record{}, db.Failure(op, err)
	}
	return broker.Record{
		Provider: p, Hosts: r.Hosts, Scopes: r.Scopes, Generation: r.Generation,
		Sealed: broker.Sealed{Binding: broker.At(tenantID, connectionID, p, r.Hosts, r.Version), KeyID: r.KeyID, Bytes: r.Sealed},
	}, nil
}

// lastingRow is one that says how long the access token lasts, too.
type lastingRow struct {
	keptRow
	SecretExpiresAt *time.Time
	Remaining, Life time.Duration
}

func (r lastingRow) record(op, tenantID, connectionID string) (broker.Record, error) {
	record, err := r.keptRow.record(op, tenantID, connectionID)
	record.Remaining, record.Life = r.Remaining, r.Life
	if r.SecretExpiresAt != nil {
		record.Sealed.ExpiresAt = *r.SecretExpiresAt
	}
	return record, err
}

// leasedRow is the row of LeaseConnection.
type leasedRow struct {
	Answer broker.Answer
	lastingRow
}

// secretRow is the row of ConnectionSecret.
type secretRow struct {
	Status string
	lastingRow
}

// takenRow is the row of TakeSecret.
type takenRow struct{ keptRow }

func (r takenRow) Rechecks() bool { return r.Settings != nil }

// sealedRow is the row of SealedSecrets.
type sealedRow struct {
	TenantID, ConnectionID string
	Settings               json.RawMessage
	Hosts                  []string
	Version                int
	KeyID                  int64
	Sealed                 []byte
}

// sealedOf reads what is sealed, each for its place.
func sealedOf(op string, rows []sealedRow) ([]broker.Sealed, error) {
	secrets := make([]broker.Sealed, len(rows))
	for i, r := range rows {
		p, err := db.Decoded[broker.Provider](r.Settings)
		if err != nil {
			return nil, db.Failure(op, err)
		}
		secrets[i] = broker.Sealed{Binding: broker.At(r.TenantID, r.ConnectionID, p, r.Hosts, r.Version), KeyID: r.KeyID, Bytes: r.Sealed}
	}
	return secrets, nil
}

// changedRow is the row of a statement that may change a connection.
type changedRow struct{ Changed bool }

func (r changedRow) Rechecks() bool { return r.Changed }

// grantedRow is the row of GrantConnection.
type grantedRow struct {
	ID        string
	ExpiresAt *time.Time
	Replaced  bool
}

func (r grantedRow) Rechecks() bool { return r.Replaced }

// AddConnection writes a connection down; by is who says so, for the audit trail. ErrTaken: the id is not free.
func (s *Store) AddConnection(ctx context.Context, n AddRow, by string) error {
	const op = "add connection"
	settings, err := db.Encoded(n.Provider)
	if err != nil {
		return db.Failure(op, err)
	}
	status := "active"
	if !n.SignedIn {
		status = "needs_reauth"
	}
	at := n.Sealed.Binding
	row, _, err := db.First[changedRow](ctx, s.db, op, db.Query("AddConnection", db.Values{
		"tenant_id": db.Text(at.TenantID), "connection_id": db.Text(at.ConnectionID), "provider": n.Provider.ID, "settings": settings,
		"hosts": n.Hosts, "scopes": texts(n.Scopes), "by": db.Text(by), "status": status, "key_id": n.Sealed.KeyID, "sealed": n.Sealed.Bytes,
		"secret_expires_at": instant(n.Sealed.ExpiresAt),
	}))
	if err == nil && !row.Changed {
		return ErrTaken
	}
	return err
}

// Connections lists those of a tenant by id, at most 500, revoked ones too; with an id that one.
func (s *Store) Connections(ctx context.Context, tenantID, connectionID string) ([]Record, error) {
	const op = "connections"
	rows, err := db.All[connectionRow](ctx, s.db, op, db.Query("ListConnections", db.Values{
		"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID), "max": db.MaxList,
	}))
	if err != nil {
		return nil, err
	}
	records := make([]Record, len(rows))
	for i, r := range rows {
		provider, err := db.Decoded[broker.Provider](r.Settings)
		if err != nil {
			return nil, db.Failure(op, err)
		}
		records[i] = Record{
			ConnectionID: r.ConnectionID, Provider: r.Provider, Kind: provider.Kind, Hosts: r.Hosts, Scopes: r.Scopes, Status: r.Status,
			Generation: r.Generation, SecretVersion: r.SecretVersion, TokenExpiresAt: r.SecretExpiresAt, AddedAt: r.AddedAt, AddedBy: r.AddedBy,
			RevokedAt: r.RevokedAt, RevokedBy: r.RevokedBy, Grants: r.Grants,
		}
		if r.KeyID != nil {
			records[i].KeyID = *r.KeyID
		}
	}
	return records, nil
}

// ConnectionGrants lists the grants of a tenant, or of one of its connections, the newest first and at most 500, those that no longer stand
// too.
func (s *Store) ConnectionGrants(ctx context.Context, tenantID, connectionID string) ([]GrantRecord, error) {
	return db.All[GrantRecord](ctx, s.db, "connection grants", db.Query("ListConnectionGrants", db.Values{
		"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID), "max": db.MaxList,
	}))
}

// GrantConnection lets somebody, or a role, use a connection with some of its scopes, for that long from now by the clock of the database;
// 0 is for good. What the grantee had before ends, and calls under way look again. ErrNotFound: the tenant has no such connection.
func (s *Store) GrantConnection(ctx context.Context, tenantID, connectionID, grantee string, scopes []string, lasts time.Duration, by string) (g GrantRecord, err error) {
	v := db.Values{"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID), "grantee": db.Text(grantee), "by": db.Text(by)}
	row, err := recheck.Changing[grantedRow](ctx, s.db, "grant connection", recheck.Filter{TenantID: tenantID, ConnectionID: connectionID},
		db.Query("EndConnectionGrant", v), db.Query("GrantConnection", v.And("scopes", texts(scopes)).And("lasts", positive(lasts))))
	if err == nil && row.ID == "" {
		err = db.ErrNotFound
	}
	return GrantRecord{
		ID: row.ID, ConnectionID: connectionID, Grantee: grantee, Scopes: scopes, ExpiresAt: row.ExpiresAt, GrantedBy: by,
	}, err
}

// RevokeConnectionGrant takes the use of a connection back. From when it returns no attempt begins with it, and the calls under way look
// again: parked ones are denied, running ones are cancelled. ErrNotFound: the grantee has none.
func (s *Store) RevokeConnectionGrant(ctx context.Context, tenantID, connectionID, grantee, by string) error {
	return s.changeConnection(ctx, "revoke connection grant", tenantID, connectionID, db.Query("RevokeConnectionGrant", db.Values{
		"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID), "grantee": db.Text(grantee), "by": db.Text(by),
	}))
}

// RevokeConnection takes a connection away for good, deletes its secret, and tells the calls under way to look again. The record has the
// secret that was deleted, so that its tokens can be taken back at the service. ErrNotFound: the tenant has none, or it is revoked.
func (s *Store) RevokeConnection(ctx context.Context, tenantID, connectionID, by string) (r broker.Record, err error) {
	const op = "revoke connection"
	v := db.Values{"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID)}
	row, err := recheck.Changing[takenRow](ctx, s.db, op, recheck.Filter{TenantID: tenantID, ConnectionID: connectionID},
		db.Query("RevokeConnection", v.And("by", db.Text(by))), db.Query("TakeSecret", v))
	switch {
	case err != nil:
		return r, err
	case !row.Rechecks():
		return r, db.ErrNotFound
	}
	return row.record(op, tenantID, connectionID)
}

func (s *Store) changeConnection(ctx context.Context, op, tenantID, connectionID string, st db.Step) error {
	row, err := recheck.Changing[changedRow](ctx, s.db, op, recheck.Filter{TenantID: tenantID, ConnectionID: connectionID}, st)
	if err == nil && !row.Changed {
		return db.ErrNotFound
	}
	return err
}

// ConnectionSecret returns a connection with its sealed secret, and how it stands; ErrNotFound where there is none or it is revoked.
func (s *Store) ConnectionSecret(ctx context.Context, tenantID, connectionID string) (r broker.Record, status string, err error) {
	const op = "connection secret"
	row, found, err := db.First[secretRow](ctx, s.db, op, db.Query("ConnectionSecret", db.Values{"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID)}))
	switch {
	case err != nil:
		return r, "", err
	case !found:
		return r, "", db.ErrNotFound
	}
	r, err = row.record(op, tenantID, connectionID)
	return r, row.Status, err
}

// ReplaceSecret puts a secret in the place of the version before it. Where that is not the one that counts any more, nothing happens and
// replaced is false: somebody else was faster. anew says that it may be of another account, so that approvals of the old one are stale; a
// refreshed token is not. lasts is how long its access token does, 0 for good.
func (s *Store) ReplaceSecret(ctx context.Context, sealed broker.Sealed, lasts time.Duration, anew bool, by string) (replaced bool, err error) {
	st := replacing(broker.Refreshed{Sealed: sealed, Lasts: lasts, By: by}, anew)
	if !anew {
		row, _, err := db.First[changedRow](ctx, s.db, "replace secret", st)
		return row.Changed, err
	}
	at := sealed.Binding
	row, err := recheck.Changing[changedRow](ctx, s.db, "rotate connection", recheck.Filter{TenantID: at.TenantID, ConnectionID: at.ConnectionID}, st)
	return row.Changed, err
}

// SealedSecrets returns a page of what is sealed for connections of all tenants: what comes after that place, at most most.
func (s *Store) SealedSecrets(ctx context.Context, after broker.Binding, most int) ([]broker.Sealed, error) {
	const op = "sealed secrets"
	rows, err := db.All[sealedRow](ctx, s.db, op, db.Query("SealedSecrets", db.Values{
		"tenant_id": after.TenantID, "connection_id": after.ConnectionID, "version": after.Version, "max": most,
	}))
	if err != nil {
		return nil, err
	}
	return sealedOf(op, rows)
}

// replacing is the statement that puts a secret in the place of the version before it.
func replacing(r broker.Refreshed, anew bool) db.Step {
	at := r.Sealed.Binding
	return db.Query("ReplaceSecret", db.Values{
		"tenant_id": db.Text(at.TenantID), "connection_id": db.Text(at.ConnectionID), "version": at.Version - 1, "key_id": r.Sealed.KeyID,
		"sealed": r.Sealed.Bytes, "secret_lasts": positive(r.Lasts), "anew": anew, "missing": texts(r.Missing), "by": db.Text(r.By),
	})
}

// LeaseConnection writes down that an attempt uses a connection, and returns it.
func (s *Store) LeaseConnection(ctx context.Context, r broker.Request) (broker.Record, error) {
	const op = "lease connection"
	row, found, err := db.First[leasedRow](ctx, s.db, op, db.Query("LeaseConnection", db.Values{
		"holder": db.Text(r.Holder), "tenant_id": db.Text(r.TenantID), "depth": authz.MaxNesting, "invocation_id": r.InvocationID, "epoch": r.Epoch,
		"temporal_run_id": contract.Executing(ctx).RunID,
		"connection_id":   db.Text(r.ConnectionID), "roles": texts(r.Roles), "needs": texts(r.Scopes), "generation": r.Generation, "round": r.Round,
		"lasts": r.Lasts,
	}))
	switch {
	case err != nil:
		return broker.Record{}, err
	case !found:
		return broker.Record{Answer: broker.Denied}, nil
	case row.Answer != broker.Leased:
		return broker.Record{Answer: row.Answer}, nil
	}
	record, err := row.record(op, r.TenantID, r.ConnectionID)
	record.Answer = row.Answer
	return record, err
}

// texts are never null.
func texts(t []string) []string {
	if t == nil {
		return []string{}
	}
	return t
}

// positive is a duration, or null for none.
func positive(d time.Duration) *time.Duration {
	if d <= 0 {
		return nil
	}
	return &d
}

// instant is a time, or null for none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
