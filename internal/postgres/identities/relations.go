package identities

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy/authz"
)

// maxRelations bounds a list.
const maxRelations = 10_000

// RelationRecord is a relation as it is kept.
type RelationRecord struct {
	authz.Relation
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// Expired is by the clock of the database.
	Expired   bool      `json:"expired,omitempty"`
	GrantedAt time.Time `json:"grantedAt"`
	GrantedBy string    `json:"grantedBy"`
}

// relationRow is the row of ListRelations.
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
	// Replaced says that it was there, and has another end now, which may come sooner.
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

// touched are the calls that a change of a relation touches: the actor's who is named, or everybody's where a membership ends, for who else
// is in a group, and who decided as the holder of a role, nobody asks here.
func touched(tenantID string, r authz.Relation) recheck.Filter {
	f := recheck.Filter{TenantID: tenantID}
	if r.Kind != authz.Member && authz.Identity(r.Subject) {
		f.ActorID = r.Subject
	}
	return f
}

// AddRelation writes a relation down, or gives one that is there another end. It lasts that long from now, by the clock of the database;
// 0 is for good. Where it was there before, the calls that it touches are told to look again.
func (s *Store) AddRelation(ctx context.Context, tenantID string, r authz.Relation, lasts time.Duration, by string) (expiresAt *time.Time, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	v := values(tenantID, r)
	v["granted_by"], v["lasts"] = db.Text(by), nil
	if lasts > 0 {
		v["lasts"] = lasts
	}
	row, err := recheck.Changing[addedRow](ctx, s.db, "add relation", touched(tenantID, r), db.Query("AddRelation", v))
	return row.ExpiresAt, err
}

// RemoveRelation takes a relation back; ErrNotFound says that the tenant has no such one. The calls that it touches are told to look
// again, so that a right that is gone is gone for them at once.
func (s *Store) RemoveRelation(ctx context.Context, tenantID string, r authz.Relation, by string) error {
	v := values(tenantID, r)
	v["removed_by"] = db.Text(by)
	row, err := recheck.Changing[removedRow](ctx, s.db, "remove relation", touched(tenantID, r), db.Query("RemoveRelation", v))
	if err == nil && !row.Removed {
		return db.ErrNotFound
	}
	return err
}

// Relations lists the relations of a tenant, at most 10 000, sorted; with who only those that name it.
func (s *Store) Relations(ctx context.Context, tenantID, who string) ([]RelationRecord, error) {
	rows, err := db.All[relationRow](ctx, s.db, "relations", db.Query("ListRelations", db.Values{"tenant_id": db.Text(tenantID), "who": db.Text(who), "most": maxRelations}))
	return db.Column(rows, relationRow.record), err
}
