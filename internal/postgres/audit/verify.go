package audit

import (
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// page is how many seals and heads one statement reads.
const page = 1000

type boundsRow struct {
	FirstSeal, LastSeal, LastHead int64
	RetentionDays                 int
	Now                           time.Time
}

type unsealedRow struct {
	TenantID      string
	Waiting, Lost int64
	LostID        string
}

// VerifyAudit verifies the chain of each given tenant, or of every tenant, and calls report for each. It ignores seals that are added to a
// chain after the verification of that chain has begun. It takes RetentionDays and Now from the database, not from terms. Without a given
// tenant it also verifies each tenant of terms.Exported, so that it reports a chain that is missing in the database.
func (s *Store) VerifyAudit(ctx context.Context, terms audit.Terms, report func(audit.Report), given ...string) error {
	tenants := slices.Clone(given)
	if len(given) == 0 {
		audited, err := s.auditedTenants(ctx)
		if err != nil {
			return err
		}
		tenants = slices.Concat(audited, db.Column(terms.Exported, func(h audit.Head) string { return h.TenantID }))
	}
	values := db.Values{"all": len(given) == 0, "tenants": db.Column(given, db.Text)}
	rows, err := db.All[unsealedRow](ctx, s.db, "events that are not sealed", db.Query("Unsealed", values))
	if err != nil {
		return err
	}
	unsealed := map[string]unsealedRow{}
	for _, r := range rows {
		unsealed[r.TenantID] = r
		tenants = append(tenants, r.TenantID)
	}
	slices.Sort(tenants)
	for _, t := range slices.Compact(tenants) {
		r, err := s.verify(ctx, t, terms, unsealed[t])
		if err != nil {
			return err
		}
		report(r)
	}
	return nil
}

// verify verifies the chain of a tenant, from the first seal that retention has not deleted. The head before this seal is the anchor. verify
// gives the verifier the seals and the heads in the order of their numbers.
func (s *Store) verify(ctx context.Context, tenantID string, terms audit.Terms, u unsealedRow) (audit.Report, error) {
	of := db.Values{"tenant_id": db.Text(tenantID)}
	b, _, err := db.First[boundsRow](ctx, s.db, "bounds of a chain", db.Query("ChainBounds", of))
	if err != nil {
		return audit.Report{}, err
	}
	terms.RetentionDays, terms.Now = b.RetentionDays, b.Now
	v := audit.NewVerifier(tenantID, terms)
	first := b.FirstSeal
	if first == 0 {
		first = b.LastHead + 1
	}
	heads, err := s.heads(ctx, of, max(first-1, 1), max(b.LastHead, b.LastSeal))
	if err != nil {
		return audit.Report{}, err
	}
	var anchor *audit.Head
	if first > 1 && len(heads.rows) > 0 && heads.rows[0].N == first-1 {
		h := heads.rows[0].head()
		anchor, heads.rows = &h, heads.rows[1:]
	}
	v.Begin(first, anchor)
	err = s.eachSeal(ctx, of, first-1, b.LastSeal, func(r sealRow) error {
		if err := heads.visitBefore(ctx, r.N, v.Head); err != nil {
			return err
		}
		var row *audit.Row
		if r.There {
			e := r.event().row()
			row = &e
		}
		v.Seal(audit.Seal{N: r.N, Month: r.SealedMonth, EventID: r.EventID, Leaf: r.Leaf, Link: r.Link}, row)
		return nil
	})
	if err == nil {
		err = heads.visitBefore(ctx, max(b.LastHead, b.LastSeal)+1, v.Head)
	}
	v.ReportUnsealed(u.Waiting, u.Lost, u.LostID)
	return v.End(), err
}

// eachSeal calls visit for each seal with a number larger than after and not larger than until, in the order of the numbers.
func (s *Store) eachSeal(ctx context.Context, of db.Values, after, until int64, visit func(sealRow) error) error {
	for {
		rows, err := db.All[sealRow](ctx, s.db, "seals of a chain", db.Query("Seals", of.With(db.Values{"after": after, "until": until, "max": page})))
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := visit(r); err != nil {
				return err
			}
			after = r.N
		}
		if len(rows) < page {
			return nil
		}
	}
}

// headReader reads heads in their order.
type headReader struct {
	store *Store
	of    db.Values
	until int64
	rows  []headRow
	more  bool
}

func (s *Store) heads(ctx context.Context, of db.Values, from, until int64) (*headReader, error) {
	r := &headReader{store: s, of: of, until: until}
	return r, r.read(ctx, from)
}

func (r *headReader) read(ctx context.Context, from int64) (err error) {
	r.rows, err = db.All[headRow](ctx, r.store.db, "heads of a chain", db.Query("Heads", r.of.With(db.Values{"from": from, "until": r.until, "max": page})))
	r.more = len(r.rows) == page
	return err
}

// visitBefore calls visit for the next heads whose numbers are smaller than n.
func (r *headReader) visitBefore(ctx context.Context, n int64, visit func(audit.Head)) error {
	for len(r.rows) > 0 && r.rows[0].N < n {
		h := r.rows[0].head()
		visit(h)
		if r.rows = r.rows[1:]; len(r.rows) == 0 && r.more {
			if err := r.read(ctx, h.N+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sealed is an event of the audit trail and its place in the chain.
type Sealed struct {
	N    int64
	Link []byte
	Row  audit.Row
}

// ExportAudit calls visit for the sealed events of a tenant with numbers larger than after, in order. It leaves out events that retention
// has deleted, and holds one page of events at a time. It returns the number of the last seal.
func (s *Store) ExportAudit(ctx context.Context, tenantID string, after int64, visit func(Sealed) error) (last int64, err error) {
	of := db.Values{"tenant_id": db.Text(tenantID)}
	b, _, err := db.First[boundsRow](ctx, s.db, "bounds of a chain", db.Query("ChainBounds", of))
	if err != nil {
		return 0, err
	}
	return max(after, b.LastSeal), s.eachSeal(ctx, of, after, b.LastSeal, func(r sealRow) error {
		if !r.There {
			return nil
		}
		return visit(Sealed{N: r.N, Link: r.Link, Row: r.event().row()})
	})
}
