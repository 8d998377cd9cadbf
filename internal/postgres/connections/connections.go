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

// Brokers use the store.
var _ broker.Store = (*Store)(nil)

// ErrTaken means that the tenant has, or had, a connection with that id. Ids are not reused.
var ErrTaken = errors.New("postgres: the connection exists")

// AddRow is a connection to add, with its sealed secret.
type AddRow struct {
	Provider broker.Provider
	Hosts    []string
	Scopes   []string
	Sealed   broker.Sealed
	// SignedIn says that the secret is usable. If it is false, the connection needs a sign-in
	// first.
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
	// SecretVersion counts the secrets that the connection has had.
	SecretVersion int `json:"secretVersion"`
	// KeyID is the key of the key ring that sealed the current secret.
	KeyID int64 `json:"keyId,omitempty"`
	// TokenExpiresAt is when the access token expires.
	TokenExpiresAt *time.Time `json:"tokenExpiresAt,omitempty"`
	AddedAt        time.Time  `json:"addedAt"`
	AddedBy        string     `json:"addedBy"`
	RevokedAt      *time.Time `json:"revokedAt,omitempty"`
	RevokedBy      string     `json:"revokedBy,omitempty"`
	// Grants counts the valid grants.
	Grants int64 `json:"grants"`
}

// GrantRecord is a grant to use a connection.
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

// connectionRow is a row of the statement ListConnections.
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

// keptRow has the columns of a connection and its secret.
type keptRow struct {
	Settings      json.RawMessage
	Hosts, Scopes []string
	Generation    int
	Version       int
	KeyID         int64
	Sealed        []byte
}

// record returns the row as the connection with these ids.
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

// lastingRow is a keptRow with the expiry of the access token.
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

// leasedRow is a row of the statement LeaseConnection.
type leasedRow struct {
	Answer broker.Answer
	lastingRow
}

// secretRow is a row of the statement ConnectionSecret.
type secretRow struct {
	Status string
	lastingRow
}

// takenRow is a row of the statement TakeSecret.
type takenRow struct{ keptRow }

func (r takenRow) Rechecks() bool { return r.Settings != nil }

// sealedRow is a row of the statement SealedSecrets.
type sealedRow struct {
	TenantID, ConnectionID string
	Settings               json.RawMessage
	Hosts                  []string
	Version                int
	KeyID                  int64
	Sealed                 []byte
}

// sealedOf returns the rows as sealed secrets, each with its binding.
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

// grantedRow is a row of the statement GrantConnection.
type grantedRow struct {
	ID        string
	ExpiresAt *time.Time
	Replaced  bool
}

func (r grantedRow) Rechecks() bool { return r.Replaced }

// AddConnection stores a connection. by is the person who added it, for the audit trail.
// AddConnection returns ErrTaken if the id is not free.
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

// Connections lists the connections of a tenant, ordered by id, at most 500, including revoked
// connections. A connectionID that is not empty selects one.
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

// ConnectionGrants lists the grants of a tenant, or of one of its connections, newest first
// within a connection, at most 500. The list includes expired and revoked grants.
func (s *Store) ConnectionGrants(ctx context.Context, tenantID, connectionID string) ([]GrantRecord, error) {
	return db.All[GrantRecord](ctx, s.db, "connection grants", db.Query("ListConnectionGrants", db.Values{
		"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID), "max": db.MaxList,
	}))
}

// GrantConnection grants an actor or a role the use of a connection with some of its scopes. lasts is
// the time from now to the expiry, by the database clock; 0 means no expiry. If the grantee has an
// earlier grant, GrantConnection ends it and sends a recheck to the open calls of the connection.
// GrantConnection returns ErrNotFound if the tenant has no such connection.
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

// RevokeConnectionGrant revokes the grantee's grant. After it returns, no attempt begins with
// the grant. The open calls of the connection get a recheck: waiting calls are denied, running
// calls are cancelled. It returns ErrNotFound if the grantee has no grant.
func (s *Store) RevokeConnectionGrant(ctx context.Context, tenantID, connectionID, grantee, by string) error {
	return s.changeConnection(ctx, "revoke connection grant", tenantID, connectionID, db.Query("RevokeConnectionGrant", db.Values{
		"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID), "grantee": db.Text(grantee), "by": db.Text(by),
	}))
}

// RevokeConnection revokes a connection permanently, deletes its secret, and sends a recheck to
// the open calls of the connection. The returned record has the deleted secret, so that the
// caller can revoke its tokens at the service. RevokeConnection returns ErrNotFound if there is
// no such connection or it is already revoked.
func (s *Store) RevokeConnection(ctx context.Context, tenantID, connectionID, by string) (r broker.Record, err error) {
	const op = "revoke connection"
	v := db.Values{"tenant_id": db.Text(tenantID), "connection_id": db.Text(connectionID)}
	row, err := recheck.Changing[takenRow](ctx, s.db, op, recheck.Filter{TenantID: tenantID, ConnectionID: connectionID},
		db.Query("RevokeConnection", v.And("by", db.Text(by))), db.Query("TakeSecret", v))
	switch {
	case err != nil:
		return r, err
	case !row.Rechecks(): // nothing was revoked
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

// ConnectionSecret returns a connection with its sealed secret, and its status. It returns
// ErrNotFound if there is no such connection or it is revoked.
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

// ReplaceSecret stores sealed in place of the current secret, if the version of the current secret is
// one below the version of sealed. Otherwise it changes nothing, and replaced is false. anew says
// that the new secret may belong to another account: approvals for the old account become stale. A
// refreshed token does not make approvals stale. lasts is the life of the access token; 0 means no expiry.
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

// SealedSecrets returns a page of the sealed secrets of all tenants: at most limit secrets that
// follow the binding previous, in the order of bindings.
func (s *Store) SealedSecrets(ctx context.Context, previous broker.Binding, limit int) ([]broker.Sealed, error) {
	const op = "sealed secrets"
	rows, err := db.All[sealedRow](ctx, s.db, op, db.Query("SealedSecrets", db.Values{
		"tenant_id": previous.TenantID, "connection_id": previous.ConnectionID, "version": previous.Version, "max": limit,
	}))
	if err != nil {
		return nil, err
	}
	return sealedOf(op, rows)
}

// replacing returns the statement that stores the secret of r, if the version of the current secret is one
// below the version of r.
func replacing(r broker.Refreshed, anew bool) db.Step {
	at := r.Sealed.Binding
	return db.Query("ReplaceSecret", db.Values{
		"tenant_id": db.Text(at.TenantID), "connection_id": db.Text(at.ConnectionID), "version": at.Version - 1, "key_id": r.Sealed.KeyID,
		"sealed": r.Sealed.Bytes, "secret_lasts": positive(r.Lasts), "anew": anew, "missing": texts(r.Missing), "by": db.Text(r.By),
	})
}

// LeaseConnection records that an attempt uses a connection, and returns the connection. If the
// attempt may not use it, the record has only an Answer.
func (s *Store) LeaseConnection(ctx context.Context, r broker.Request) (broker.Record, error) {
	const op = "lease connection"
	values := db.Values{
		"holder": db.Text(r.Holder), "tenant_id": db.Text(r.TenantID), "depth": authz.MaxNesting, "connection_id": db.Text(r.ConnectionID), "roles": texts(r.Roles),
	}
	lease := db.Query("LeaseConnectionToAgent", values.With(db.Values{"run_id": db.Text(r.AgentRunID)}))
	if r.AgentRunID == "" {
		lease = db.Query("LeaseConnection", values.With(db.Values{
			"invocation_id": r.InvocationID, "epoch": r.Epoch, "temporal_run_id": contract.Executing(ctx).RunID,
			"needs": texts(r.Scopes), "generation": r.Generation, "round": r.Round, "lasts": r.Lasts,
		}))
	}
	row, found, err := db.First[leasedRow](ctx, s.db, op, lease)
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

// texts returns t, or an empty slice for nil: a nil slice would be NULL.
func texts(t []string) []string {
	if t == nil {
		return []string{}
	}
	return t
}

// positive returns d, or NULL if d is not positive.
func positive(d time.Duration) *time.Duration {
	if d <= 0 {
		return nil
	}
	return &d
}

// instant returns t, or NULL for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
