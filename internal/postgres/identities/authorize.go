package identities

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy/authz"
)

// Authorizer is the built-in authorization engine. It uses the relations in the database. If the
// policy of a tenant is the tenant's authorization, Authorizer reads the database only for a
// call with a subject, to check the delegation.
type Authorizer struct{ store *Store }

var _ authz.Port = Authorizer{}

// Authorizer returns the built-in authorization engine.
func (s *Store) Authorizer() Authorizer { return Authorizer{store: s} }

// checkedRow is a row of the statement CheckRelations.
type checkedRow struct{ Permitted, Delegated, Trusted bool }

// Check runs at most one statement. It caches nothing: a revocation applies to the next Check.
func (a Authorizer) Check(ctx context.Context, r authz.Request) (authz.Decision, error) {
	if r.Permission != authz.Execute || r.TenantID == "" || r.ActorID == "" || r.ToolID == "" {
		return authz.Deny(authz.Permission), nil
	}
	byPolicy := r.Basis == authz.ByPolicy
	switch {
	case byPolicy && r.SubjectID == "":
		return authz.Allow(), nil
	case !authz.Identity(r.ActorID) && !byPolicy:
		return authz.Deny(authz.Permission), nil
	}
	row, found, err := db.First[checkedRow](ctx, a.store.db, "authorize", db.Query("CheckRelations", db.Values{
		"tenant_id": db.Text(r.TenantID), "actor_id": db.Text(r.ActorID), "subject_id": db.Text(r.SubjectID), "tool_id": db.Text(r.ToolID),
		"graph_id": db.Text(r.GraphID), "depth": authz.MaxNesting, "submitter": db.Text(r.Submitter),
	}))
	switch {
	case err != nil:
		return authz.Decision{}, err
	case !found || !row.Permitted && !byPolicy:
		return authz.Deny(authz.Permission), nil
	case r.SubjectID != "" && !row.Trusted:
		return authz.Deny(authz.Trust), nil
	case r.SubjectID != "" && !row.Delegated:
		return authz.Deny(authz.Delegation), nil
	}
	return authz.Allow(), nil
}

type roleRow struct{ Role string }

// Roles returns the roles that an identity has in a tenant, directly or through groups, sorted.
// Each has the form role:NAME.
func (s *Store) Roles(ctx context.Context, tenantID, identity string) ([]string, error) {
	rows, err := db.All[roleRow](ctx, s.db, "roles", db.Query("HeldRoles", db.Values{
		"tenant_id": db.Text(tenantID), "identity": db.Text(identity), "depth": authz.MaxNesting,
	}))
	return db.Column(rows, func(r roleRow) string { return r.Role }), err
}
