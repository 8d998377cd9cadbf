package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/policy"
)

// activateRow is the row of ActivatePolicy.
type activateRow struct {
	Changed   bool
	Rechecked int64
}

// ApplyPolicy stores a version and makes it the active one; by says who does. Calls that wait for an approval are told to look again.
// changed is false where it was active already.
func (s *Store) ApplyPolicy(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	return s.activate(ctx, p, by, false)
}

// ApplyIfNone is ApplyPolicy where no version is active yet, and does nothing else. Of several workers that start at once, one applies.
func (s *Store) ApplyIfNone(ctx context.Context, p *policy.Policy, by string) (changed bool, err error) {
	return s.activate(ctx, p, by, true)
}

func (s *Store) activate(ctx context.Context, p *policy.Policy, by string, onlyIfNone bool) (bool, error) {
	if p.Digest() == "" {
		return false, errors.New("no policy was given")
	}
	row, _, err := batched[activateRow](ctx, s, "apply policy",
		step{"InsertPolicy", named{"digest": p.Digest(), "source": string(p.Source())}},
		step{"LockActivePolicy", named{}},
		step{"ActivatePolicy", named{"digest": p.Digest(), "activated_by": text(by), "only_if_none": onlyIfNone}},
	)
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
	row, ok, err := first[activeRow](ctx, s, "active policy", step{"ActivePolicy", named{}})
	return Active{Digest: row.Digest, At: row.ActivatedAt, By: row.ActivatedBy}, ok, err
}
