package policies

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
)

// policyCacheSize bounds the compiled versions in memory. Open calls use the active version and
// the few versions before it.
const policyCacheSize = 16

type sourceRow struct {
	Source string
}

// Policy returns a compiled version. The empty digest is the policy that denies every call. A
// digest that is not stored is a permanent error. If this program cannot read the version, for
// example because a newer release has stored it, the error is judge.ErrPolicyUnreadable.
func (s *Store) Policy(ctx context.Context, digest string) (*policy.Policy, error) {
	const op = "policy"
	if digest == "" {
		return nil, nil //nolint:nilnil // A nil Policy denies every call (package policy).
	}
	if p, ok := s.compiled.Get(digest); ok {
		return p, nil
	}
	row, found, err := db.First[sourceRow](ctx, s.db, op, db.Query("PolicySource", db.Values{"digest": db.Text(digest)}))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &db.Error{Op: op, State: "unknown version"}
	}
	p, err := policy.ParseRecorded("policy "+digest, []byte(row.Source))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", judge.ErrPolicyUnreadable, &db.Error{Op: op, State: "the stored version does not compile"})
	}
	return s.compiled.GetOrAdd(digest, func() *policy.Policy { return p }), nil
}

// CurrentPolicy returns the active version, compiled. If no version is active, it returns the
// policy that denies every call.
func (s *Store) CurrentPolicy(ctx context.Context) (*policy.Policy, error) {
	active, _, err := s.ActivePolicy(ctx)
	if err != nil {
		return nil, err
	}
	return s.Policy(ctx, active.Digest)
}
