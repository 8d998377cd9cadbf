package identities

import (
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
)

// maxRelations bounds the list of Relations.
const maxRelations = 10_000

// RelationRecord is a stored relation.
type RelationRecord struct {
	authz.Relation
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// Expired is computed with the database clock.
	Expired   bool      `json:"expired,omitempty"`
	GrantedAt time.Time `json:"grantedAt"`
	GrantedBy string    `json:"grantedBy"`
}

// relationRow is a row of the statement ListRelations.
type relationRow struct {
	Kind, Subject, Object, Tools, GraphID string
	ExpiresAt                             *time.Time
	Expired                               bool
	GrantedAt                             time.Time
	GrantedBy                             string
}

func (r relationRow) record() RelationRecord {
	return RelationRecord{
		Relation:  authz.Relation{Kind: authz.Kind(r.Kind), Subject: r.Subject, Object: r.Object, Tools: r.Tools, GraphID: r.GraphID},
		ExpiresAt: r.ExpiresAt, Expired: r.Expired, GrantedAt: r.GrantedAt, GrantedBy: r.GrantedBy,
	}
}

type addedRow struct {
	ExpiresAt *time.Time
	// Replaced says that the relation existed and has a new expiry, which may be earlier.
	Replaced bool
}

func (r addedRow) Rechecks() bool { return r.Replaced }

type removedRow struct{ Removed bool }

func (r removedRow) Rechecks() bool { return r.Removed }

func values(tenantID string, r authz.Relation) db.Values {
	return db.Values{
		"tenant_id": db.Text(tenantID), "subject": db.Text(r.Subject), "kind": db.Text(r.Kind), "object": db.Text(r.Object), "tools": db.Text(r.Tools),
		"graph_id": db.Text(r.GraphID),
	}
}

// affectedCalls selects the calls that a change of a relation affects: the calls of the identity
// r.Subject, or all calls of the tenant if the relation is a membership or r.Subject is a group or a
// role. It does not look up the members of a group, or the approvers who decided with a role.
func affectedCalls(tenantID string, r authz.Relation) recheck.Filter {
	f := recheck.Filter{TenantID: tenantID}
	if r.Kind != authz.Member && authz.Identity(r.Subject) {
		f.ActorID = r.Subject
	}
	return f
}

// AddRelation stores a relation, or changes the expiry of an existing relation. lasts is the time
// from now to the expiry, by the database clock; 0 means no expiry. If the relation existed, the
// affected calls get a recheck.
func (s *Store) AddRelation(ctx context.Context, tenantID string, r authz.Relation, lasts time.Duration, by string) (expiresAt *time.Time, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	v := values(tenantID, r)
	v["granted_by"], v["lasts"] = db.Text(by), nil
	if lasts > 0 {
		v["lasts"] = lasts
	}
	row, err := recheck.Changing[addedRow](ctx, s.db, "add relation", affectedCalls(tenantID, r), db.Query("AddRelation", v))
	return row.ExpiresAt, err
}

// RemoveRelation deletes a relation. It returns ErrNotFound if the tenant has no such relation.
// The affected calls get a recheck, so that they lose the permission at once.
func (s *Store) RemoveRelation(ctx context.Context, tenantID string, r authz.Relation, by string) error {
	v := values(tenantID, r)
	v["removed_by"] = db.Text(by)
	row, err := recheck.Changing[removedRow](ctx, s.db, "remove relation", affectedCalls(tenantID, r), db.Query("RemoveRelation", v))
	if err == nil && !row.Removed {
		return db.ErrNotFound
	}
	return err
}

// Relations lists the relations of a tenant, at most 10,000, sorted. If who is not empty, it
// lists only relations with who as subject or object.
func (s *Store) Relations(ctx context.Context, tenantID, who string) ([]RelationRecord, error) {
	rows, err := db.All[relationRow](ctx, s.db, "relations", db.Query("ListRelations", db.Values{"tenant_id": db.Text(tenantID), "who": db.Text(who), "most": maxRelations}))
	return db.Column(rows, relationRow.record), err
}

// RelatedRoles reads the relations of each role that p names as an approver. The function that it returns reports whether a role of a tenant
// has a member. A group counts as a member, also if it is empty. The function knows only the roles of p, and sees no later change.
func (s *Store) RelatedRoles(ctx context.Context, p *policy.Policy) (related func(tenantID, role string) bool, err error) {
	given := map[[2]string]bool{}
	for _, named := range p.Document().Named {
		for _, role := range named.Approvers.Roles() {
			key, object := [2]string{named.TenantID, role}, authz.RolePrefix+role
			if _, known := given[key]; known {
				continue
			}
			relations, err := s.Relations(ctx, named.TenantID, object)
			if err != nil {
				return nil, err
			}
			given[key] = slices.ContainsFunc(relations, func(r RelationRecord) bool { return r.Kind == authz.Member && r.Object == object && !r.Expired })
		}
	}
	return func(tenantID, role string) bool { return given[[2]string{tenantID, role}] }, nil
}
