package policies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy"
)

// MovedError says that another version is active than the caller expected. Nothing was changed.
type MovedError struct {
	// Active is the digest of that version; empty means none.
	Active string
}

// Error names the version that is active.
func (e *MovedError) Error() string {
	if e.Active == "" {
		return "no policy is active, and one was expected; nothing was changed"
	}
	return fmt.Sprintf("policy %s is active, and another was expected; nothing was changed", e.Active)
}

// How says what made a version the active one.
type How string

// The ways.
const (
	Applied    How = "apply"
	RolledBack How = "rollback"
)

// Activation makes a version the active one.
type Activation struct {
	Policy *policy.Policy
	// By says who does it.
	By string
	// How is Applied where it is left out.
	How How
	// Expected, if not nil, is the digest that must be active, empty for none. Else nothing happens, and the error is a MovedError.
	Expected *string
	// onlyIfNone does nothing where any version is active.
	onlyIfNone bool
}

// activateRow is the row of ActivatePolicy.
type activateRow struct {
	Changed bool
	Before  string
	Told    int64
}

func (r activateRow) Rechecks() bool { return r.Changed }

// ApplyPolicy stores a version and makes it the active one; by says who does. Unsettled calls are told to look again.
// changed is false where it was active already.
func (s *Store) ApplyPolicy(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	return s.Activate(ctx, Activation{Policy: p, By: by})
}

// ApplyIfNone is ApplyPolicy where no version is active yet, and does nothing else. Of several workers that start at once, one applies.
func (s *Store) ApplyIfNone(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	return s.Activate(ctx, Activation{Policy: p, By: by, onlyIfNone: true})
}

// Activate is ApplyPolicy with conditions. Of several that expect the same version, one changes something.
func (s *Store) Activate(ctx context.Context, a Activation) (changed bool, err error) {
	p := a.Policy
	if p.Digest() == "" {
		return false, errors.New("no policy was given")
	}
	if a.How == "" {
		a.How = Applied
	}
	expected := ""
	if a.Expected != nil {
		expected = *a.Expected
	}
	row, err := recheck.Changing[activateRow](ctx, s.db, "apply policy", recheck.Filter{PolicyDigest: p.Digest()},
		db.Query("InsertPolicy", db.Values{"digest": p.Digest(), "source": string(p.Source())}),
		db.Query("LockActivePolicy", db.Values{}),
		db.Query("ActivatePolicy", db.Values{
			"digest": p.Digest(), "activated_by": db.Text(a.By), "only_if_none": a.onlyIfNone, "how": string(a.How),
			"expects": a.Expected != nil, "expected": db.Text(expected),
		}),
	)
	if err == nil && a.Expected != nil && row.Before != *a.Expected && row.Before != p.Digest() {
		err = &MovedError{Active: row.Before}
	}
	return row.Changed, err
}

// Active is the policy pointer.
type Active struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
}

type activeRow struct {
	Digest      string
	ActivatedAt time.Time
	ActivatedBy string
}

// ActivePolicy returns the pointer; ok is false where no version is active.
func (s *Store) ActivePolicy(ctx context.Context) (active Active, ok bool, err error) {
	row, ok, err := db.First[activeRow](ctx, s.db, "active policy", db.Query("ActivePolicy", db.Values{}))
	return Active{Digest: row.Digest, At: row.ActivatedAt, By: row.ActivatedBy}, ok, err
}
