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

// MovedError means that the active version is not the version that the caller expected. Nothing
// was changed.
type MovedError struct {
	// Active is the digest of the active version. It is empty if no version is active.
	Active string
}

// Error names the active version.
func (e *MovedError) Error() string {
	if e.Active == "" {
		return "no policy is active, and one was expected; nothing was changed"
	}
	return fmt.Sprintf("policy %s is active, and another was expected; nothing was changed", e.Active)
}

// How is the kind of command that activated a version.
type How string

// The values of How.
const (
	Applied    How = "apply"
	RolledBack How = "rollback"
)

// Activation is a request to activate a version.
type Activation struct {
	Policy *policy.Policy
	// By is the person who activates the version.
	By string
	// How is Applied if it is empty.
	How How
	// Expected, if not nil, is the digest that must be active; empty means none. If another
	// version is active, nothing changes and the error is a *MovedError.
	Expected *string
	// onlyIfNone changes nothing if any version is active.
	onlyIfNone bool
}

// activateRow is a row of the statement ActivatePolicy.
type activateRow struct {
	Changed   bool
	Before    string
	Announced int64
}

func (r activateRow) Rechecks() bool { return r.Changed }

// ApplyPolicy stores a version and activates it. by is the person who applied it.
// Open calls get a recheck. changed is false if the version was active already.
func (s *Store) ApplyPolicy(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	return s.Activate(ctx, Activation{Policy: p, By: by})
}

// ApplyIfNone does what ApplyPolicy does if no version is active, and nothing otherwise. If
// several workers start at the same time, only one of them applies its policy.
func (s *Store) ApplyIfNone(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	return s.Activate(ctx, Activation{Policy: p, By: by, onlyIfNone: true})
}

// Activate does what ApplyPolicy does, if the conditions of a are met. If several callers expect the
// same active version, only one of them can replace it.
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

// AnnouncePolicy makes every worker read the active version and the shadow version again.
func (s *Store) AnnouncePolicy(ctx context.Context) error {
	_, err := s.db.Exec(ctx, "announce policy", db.Query("AnnouncePolicy", db.Values{}))
	return err
}

// Active is the active policy version, or the shadow version.
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

// ActivePolicy returns the active version. ok is false if no version is active.
func (s *Store) ActivePolicy(ctx context.Context) (active Active, ok bool, err error) {
	row, ok, err := db.First[activeRow](ctx, s.db, "active policy", db.Query("ActivePolicy", db.Values{}))
	return Active{Digest: row.Digest, At: row.ActivatedAt, By: row.ActivatedBy}, ok, err
}
