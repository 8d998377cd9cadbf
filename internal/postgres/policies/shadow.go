package policies

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
)

type shadowRow struct {
	Changed   bool
	Announced int64
}

// SetShadow stores a version and makes it the shadow version, which workers also use to judge new
// calls, without effect. A nil p removes the shadow version. by is the person who did it, for the
// audit trail.
func (s *Store) SetShadow(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	var steps []db.Step
	if p != nil {
		steps = append(steps, db.Query("InsertPolicy", db.Values{"digest": p.Digest(), "source": string(p.Source())}))
	}
	row, _, err := db.Batched[shadowRow](ctx, s.db, "shadow policy", append(steps, db.Query("SetShadow", db.Values{"digest": p.Digest(), "by": db.Text(by)}))...)
	return row.Changed, err
}

// ShadowPolicy returns the shadow version. ok is false if there is none.
func (s *Store) ShadowPolicy(ctx context.Context) (shadow Active, ok bool, err error) {
	row, ok, err := db.First[activeRow](ctx, s.db, "shadow policy", db.Query("ShadowPolicy", db.Values{}))
	return Active{Digest: row.Digest, At: row.ActivatedAt, By: row.ActivatedBy}, ok, err
}

// Shadowed is a line of ShadowReport: the settled calls of one tool and tenant on which the active and
// the shadow version gave this pair of verdicts.
type Shadowed struct {
	TenantID string
	ToolID   string
	gate.ShadowNote
	// Calls counts these calls.
	Calls int
	// Example is the invocation id of one of these calls.
	Example string
}

type shadowedRow struct {
	TenantID string
	ToolID   string
	Reason   string
	Calls    int
	Example  string
}

// ShadowReport returns the verdicts of a shadow version on calls since a time, most frequent first, at
// most 500 lines. Without a tenantID it covers all tenants.
func (s *Store) ShadowReport(ctx context.Context, digest, tenantID string, since time.Time) ([]Shadowed, error) {
	rows, err := db.All[shadowedRow](ctx, s.db, "shadow report", db.Query("ShadowReport", db.Values{
		"since": since, "prefix": gate.ShadowPrefix(digest), "tenant_id": db.Text(tenantID), "max": db.MaxList,
	}))
	if err != nil {
		return nil, err
	}
	var lines []Shadowed
	for _, r := range rows {
		if note, ok := gate.ParseShadowNote(r.Reason); ok {
			lines = append(lines, Shadowed{TenantID: r.TenantID, ToolID: r.ToolID, ShadowNote: note, Calls: r.Calls, Example: r.Example})
		}
	}
	return lines, nil
}
