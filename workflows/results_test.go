package workflows_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/workflows"
)

// results is a result cache in memory, for tests that skip time. Real ones compare with the database's clock; internal/postgres has their
// suite.
type results struct {
	mu      sync.Mutex
	now     func() time.Time
	kept    map[string]kept
	lookups []activities.LookupRow
	// onLookup, where it is set, answers the nth lookup, unless it returns nil.
	onLookup func(n int) *activities.Finding
}

type kept struct {
	workflows.Kept
	by      string
	expires time.Time
}

func (r *results) Lookup(_ context.Context, in activities.LookupRow) (activities.Finding, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookups = append(r.lookups, in)
	if r.onLookup != nil {
		if found := r.onLookup(len(r.lookups)); found != nil {
			return *found, nil
		}
	}
	if k, ok := r.kept[in.Key]; ok && r.now().Before(k.expires) {
		return activities.Finding{Value: k.Value}, nil
	}
	return activities.Finding{}, nil
}

func (r *results) keep(by string, k workflows.Kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]kept{}
	}
	r.kept[k.Entry.Key] = kept{k, by, r.now().Add(time.Duration(k.Entry.TTLMs) * time.Millisecond)}
}

// only is the one value that there is, or an empty one.
func (r *results) only() kept {
	for _, k := range r.kept {
		if len(r.kept) == 1 {
			return k
		}
	}
	return kept{Kept: workflows.Kept{Value: json.RawMessage{}}}
}
