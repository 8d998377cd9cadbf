package audit

import (
	"context"
	"embed"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

// Store seals and reads the audit trail. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns a Store that uses the database d.
func New(d *db.DB) *Store { return &Store{db: d.With(files)} }

// eventRow is an event.
type eventRow struct {
	ID, Month, At, Kind, TenantID, InvocationID, WorkflowID, AuditID string
	Seq                                                              int
	Detail                                                           json.RawMessage
}

// sealRow is a seal and its event. There is false if retention or somebody has deleted the event.
type sealRow struct {
	N                                                                int64
	SealedMonth, EventID                                             string
	Leaf, Link                                                       []byte
	There                                                            bool
	ID, Month, At, Kind, TenantID, InvocationID, WorkflowID, AuditID string
	Seq                                                              int
	Detail                                                           json.RawMessage
}

func (r sealRow) event() eventRow {
	return eventRow{r.ID, r.Month, r.At, r.Kind, r.TenantID, r.InvocationID, r.WorkflowID, r.AuditID, r.Seq, r.Detail}
}

func (r eventRow) row() audit.Row {
	return audit.Row{
		ID: r.ID, Month: r.Month, At: r.At, Kind: r.Kind, TenantID: r.TenantID, InvocationID: r.InvocationID,
		WorkflowID: r.WorkflowID, AuditID: r.AuditID, Seq: r.Seq, Detail: r.Detail,
	}
}

// headRow is a head.
type headRow struct {
	TenantID      string
	N             int64
	Link          []byte
	At            time.Time
	RetentionDays int
	After         int64
	KeyID         string
	Signature     []byte
}

func (r headRow) head() audit.Head {
	return audit.Head{
		TenantID: r.TenantID, N: r.N, Link: r.Link, At: r.At, RetentionDays: r.RetentionDays, After: r.After, KeyID: r.KeyID, Signature: r.Signature,
	}
}

type tenantRow struct{ TenantID string }

// AuditHeads returns the last head of each chain in the order of the tenants, or the last heads of the given tenants. The chain of the
// tenant "" has the events that belong to no tenant.
func (s *Store) AuditHeads(ctx context.Context, tenants ...string) (heads []audit.Head, err error) {
	if len(tenants) == 0 {
		if tenants, err = s.auditedTenants(ctx); err != nil {
			return nil, err
		}
	}
	rows, err := db.All[headRow](ctx, s.db, "heads of the audit trail", db.Query("LastHeads", db.Values{"tenants": tenants}))
	return db.Column(rows, headRow.head), err
}

// auditedTenants returns the tenants that have heads or seals.
func (s *Store) auditedTenants(ctx context.Context) ([]string, error) {
	rows, err := db.All[tenantRow](ctx, s.db, "tenants of the audit trail", db.Query("AuditedTenants", db.Values{}))
	return db.Column(rows, func(r tenantRow) string { return r.TenantID }), err
}

type deletedRow struct{ Deleted int }

// DeleteExpiredSeals deletes seals whose events retention has deleted, up to a head that is older than the given number of days. It returns
// the number of rows. Call it until it deletes none.
func (s *Store) DeleteExpiredSeals(ctx context.Context, days int) (int, error) {
	row, _, err := db.First[deletedRow](ctx, s.db, "delete expired seals", db.Query("DeleteExpiredSeals", db.Values{"days": days}))
	return row.Deleted, err
}

// Call is a settled call, as the record and the audit trail have it.
type Call struct {
	InvocationID, RunID, ToolCallID, WorkflowID, TemporalRunID string
	OK                                                         *bool
	ErrorCode                                                  string
	Result                                                     json.RawMessage
	// Audited is the kind of the event that has the end of the call: invocation, swept, or "" if there is none.
	Audited string
	// AuditedCode is the error code in this event.
	AuditedCode string
}

// AuditedCalls returns the newest settled calls of a tenant that were created since a time, at most max.
func (s *Store) AuditedCalls(ctx context.Context, tenantID string, since time.Time, max int) ([]Call, error) {
	return db.All[Call](ctx, s.db, "audited calls", db.Query("SettledCalls", db.Values{"tenant_id": db.Text(tenantID), "since": since, "max": max}))
}
