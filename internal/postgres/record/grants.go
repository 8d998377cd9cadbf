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

// liveGrantRow is a row of the statement LiveGrants.
type liveGrantRow struct {
	ID, ArgsDigest, ActorID, SessionID, Approver string
	Granted, ArgsMatch                           json.RawMessage
}

// GrantRecord is a remembered approval.
type GrantRecord struct {
	ID     string `json:"grantId"`
	ToolID string `json:"toolId"`
	// Exact limits the grant to the approved arguments. Without Exact and Match, it covers any arguments.
	Exact bool `json:"exact,omitempty"`
	// Match limits the grant to arguments with these members.
	Match []toolspec.ArgMatch `json:"match,omitempty"`
	// ActorID is the actor of the calls that the grant covers. Empty means any actor.
	ActorID string `json:"actorId,omitempty"`
	// SessionID is the session of the calls that the grant covers. Empty means any session.
	SessionID  string     `json:"sessionId,omitempty"`
	Approver   string     `json:"approver"`
	ApprovalID string     `json:"approvalId"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt"`
	Expired    bool       `json:"expired,omitempty"`
	RevokedAt  *time.Time `json:"revokedAt,omitempty"`
	RevokedBy  string     `json:"revokedBy,omitempty"`
	// Uses counts the recorded calls that the grant has approved.
	Uses int64 `json:"uses"`
}

// grantRow is a row of the statement ListGrants.
type grantRow struct {
	ID, ToolID, ActorID, SessionID, Approver, ApprovalID, RevokedBy string

	Exact, Expired       bool
	ArgsMatch            json.RawMessage
	CreatedAt, ExpiresAt time.Time
	RevokedAt            *time.Time
	Uses                 int64
}

// revokedRow is a row of the statement RevokeGrant.
type revokedRow struct{ Revoked bool }

// Grants returns the valid remembered approvals of a tool that the actor may use for the arguments,
// oldest first, at most 256.
func (s *Store) Grants(ctx context.Context, q approval.GrantQuery) ([]approval.Grant, error) {
	const op = "grants"
	rows, err := db.All[liveGrantRow](ctx, s.db, op, db.Query("LiveGrants", db.Values{
		"tenant_id": db.Text(q.TenantID), "tool_id": db.Text(q.ToolID), "actor_id": db.Text(q.ActorID), "session_id": db.Text(q.SessionID), "args_digest": q.ArgsDigest,
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

// ListGrants returns the tenant's remembered approvals, newest first, at most 500. The list
// includes expired and revoked grants.
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

// RevokeGrant revokes a remembered approval. by is the person who revoked it, for
// the audit trail. revoked is false if the grant was revoked before. RevokeGrant returns ErrNotFound
// if the tenant has no such grant.
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

// addGrant adds the parameters of the remembered approval that a decision creates. A nil g adds empty
// values, and the statement creates no remembered approval.
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
