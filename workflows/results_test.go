package workflows_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/workflows/contract"
)

// results is a fake result cache in memory, for tests that skip time: the real cache uses the clock of the database, and has its tests in
// internal/postgres.
type results struct {
	mu      sync.Mutex
	now     func() time.Time
	kept    map[string]kept
	lookups []cache.LookupRow
	// onLookup, if it is set, returns the finding of the nth lookup, or nil for the finding of the fake.
	onLookup func(n int) *cache.Finding
}

type kept struct {
	contract.Kept
	by      string
	expires time.Time
}

func (r *results) Lookup(_ context.Context, in cache.LookupRow) (cache.Finding, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookups = append(r.lookups, in)
	if r.onLookup != nil {
		if found := r.onLookup(len(r.lookups)); found != nil {
			return *found, nil
		}
	}
	if k, ok := r.kept[in.Key]; ok && r.now().Before(k.expires) {
		return cache.Finding{Value: k.Value}, nil
	}
	return cache.Finding{}, nil
}

func (r *results) keep(by string, k contract.Kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]kept{}
	}
	r.kept[k.Entry.Key] = kept{k, by, r.now().Add(time.Duration(k.Entry.TTLMs) * time.Millisecond)}
}

// only returns the only kept value, or an empty value if there is not exactly one.
func (r *results) only() kept {
	for _, k := range r.kept {
		if len(r.kept) == 1 {
			return k
		}
	}
	return kept{Kept: contract.Kept{Value: json.RawMessage{}}}
}
