package policies

import (
	"container/list"
	"context"
	"fmt"
	"sync"

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
	if p := s.compiled.get(digest); p != nil {
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
	s.compiled.put(digest, p)
	return p, nil
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

// policyCache holds the versions that were used most recently. Versions never change, so entries
// do not become stale.
type policyCache struct {
	mu    sync.Mutex
	size  int
	order *list.List // The values are cachedPolicy, the most recently used first.
	at    map[string]*list.Element
}

type cachedPolicy struct {
	digest string
	policy *policy.Policy
}

func newPolicyCache(size int) *policyCache {
	return &policyCache{size: size, order: list.New(), at: map[string]*list.Element{}}
}

func (c *policyCache) get(digest string) *policy.Policy {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[digest]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(cachedPolicy).policy //nolint:errcheck,forcetypeassert // The list holds only cachedPolicy values.
}

func (c *policyCache) put(digest string, p *policy.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.at[digest]; ok {
		return
	}
	c.at[digest] = c.order.PushFront(cachedPolicy{digest, p})
	for c.order.Len() > c.size {
		oldest := c.order.Back()
		delete(c.at, c.order.Remove(oldest).(cachedPolicy).digest) //nolint:errcheck,forcetypeassert // The list holds only cachedPolicy values.
	}
}
