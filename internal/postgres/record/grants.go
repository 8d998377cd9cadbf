package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// liveGrantRow is the row of LiveGrants.
type liveGrantRow struct {
	ID, ArgsDigest, ActorID, SessionID, Approver string
	Granted, ArgsMatch                           json.RawMessage
}

// GrantRecord is a remembered approval.
type GrantRecord struct {
	ID     string `json:"grantId"`
	ToolID string `json:"toolId"`
	// Exact says that it holds for the approved arguments only, Match for which members otherwise; neither is any arguments.
	Exact bool                `json:"exact,omitempty"`
	Match []toolspec.ArgMatch `json:"match,omitempty"`
	// ActorID and SessionID are empty where any does.
	ActorID    string     `json:"actorId,omitempty"`
	SessionID  string     `json:"sessionId,omitempty"`
	Approver   string     `json:"approver"`
	ApprovalID string     `json:"approvalId"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt"`
	Expired    bool       `json:"expired,omitempty"`
	RevokedAt  *time.Time `json:"revokedAt,omitempty"`
	RevokedBy  string     `json:"revokedBy,omitempty"`
	// Uses counts the calls of the record that it has approved.
	Uses int64 `json:"uses"`
}

// grantRow is the row of ListGrants.
type grantRow struct {
	ID, ToolID, ActorID, SessionID, Approver, ApprovalID, RevokedBy string

	Exact, Expired       bool
	ArgsMatch            json.RawMessage
	CreatedAt, ExpiresAt time.Time
	RevokedAt            *time.Time
	Uses                 int64
}

// revokedRow is the row of RevokeGrant.
type revokedRow struct{ Revoked bool }

// Grants returns the remembered approvals of a tool that stand and that the actor may use, the oldest first and at most 256.
func (s *Store) Grants(ctx context.Context, q approval.GrantQuery) ([]approval.Grant, error) {
	const op = "grants"
	rows, err := db.All[liveGrantRow](ctx, s.db, op, db.Query("LiveGrants", db.Values{
		"tenant_id": db.Text(q.TenantID), "tool_id": db.Text(q.ToolID), "actor_id": db.Text(q.ActorID), "session_id": db.Text(q.SessionID),
	}))
	if err != nil {
		return nil, err
	}
	grants := make([]approval.Grant, len(rows))
	for i, r := range rows {
		g := approval.Grant{ID: r.ID, ArgsDigest: r.ArgsDigest, ActorID: r.ActorID, SessionID: r.SessionID, Approver: r.Approver}
		if g.Granted, err = db.Decoded[hook.GrantedApproval](r.Granted); err != nil {
			return nil, db.Failure(op, err)
		}
		if g.Match, err = matchOf(r.ArgsMatch); err != nil {
			return nil, db.Failure(op, err)
		}
		grants[i] = g
	}
	return grants, nil
}

// ListGrants returns the tenant's remembered approvals, the newest first and at most 500, those that no longer stand too.
func (s *Store) ListGrants(ctx context.Context, tenantID string) ([]GrantRecord, error) {
	const op = "list grants"
	rows, err := db.All[grantRow](ctx, s.db, op, db.Query("ListGrants", db.Values{"tenant_id": db.Text(tenantID), "max": db.MaxList}))
	if err != nil {
		return nil, err
	}
	records := make([]GrantRecord, len(rows))
	for i, r := range rows {
		records[i] = GrantRecord{
			ID: r.ID, ToolID: r.ToolID, Exact: r.Exact, ActorID: r.ActorID, SessionID: r.SessionID, Approver: r.Approver, ApprovalID: r.ApprovalID,
			CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Expired: r.Expired, RevokedAt: r.RevokedAt, RevokedBy: r.RevokedBy, Uses: r.Uses,
		}
		if records[i].Match, err = matchOf(r.ArgsMatch); err != nil {
			return nil, db.Failure(op, err)
		}
	}
	return records, nil
}

// RevokeGrant takes a remembered approval back; by is who says so, for the audit trail. revoked is false where it was taken back before;
// ErrNotFound where the tenant has no such one.
func (s *Store) RevokeGrant(ctx context.Context, tenantID, grantID, by string) (revoked bool, err error) {
	row, found, err := db.First[revokedRow](ctx, s.db, "revoke grant", db.Query("RevokeGrant", db.Values{
		"tenant_id": db.Text(tenantID), "grant_id": db.Text(grantID), "revoked_by": db.Text(by),
	}))
	if err == nil && !found {
		err = db.ErrNotFound
	}
	return row.Revoked, err
}

func matchOf(raw json.RawMessage) ([]toolspec.ArgMatch, error) {
	if raw == nil {
		return nil, nil
	}
	return db.Decoded[[]toolspec.ArgMatch](raw)
}

// addGrant adds what an approval leaves behind; nothing does where g is nil.
func addGrant(values db.Values, g *approval.GrantRow) error {
	if g == nil {
		g = &approval.GrantRow{}
	}
	granted, err := db.Encoded(g.Granted)
	if err != nil {
		return err
	}
	values["grant_match"] = (*string)(nil)
	if len(g.Match) > 0 {
		if values["grant_match"], err = db.Encoded(g.Match); err != nil {
			return err
		}
	}
	values["grant_granted"], values["grant_args"], values["grant_actor"] = granted, g.ArgsDigest, db.Text(g.ActorID)
	values["grant_session"], values["grant_for"] = db.Text(g.SessionID), g.For
	return nil
}
