package record

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

var _ cache.Results = (*Store)(nil)

// oldestMade is the highest possible age of the call behind a valid cached value, counted from
// its admission. It is the sum of three times, each at most MaxCacheFor: the life of the value,
// the run time of a call under the most permissive policy, and the time that the call waits for
// approvals.
const oldestMade = 3 * toolspec.MaxCacheFor

// findingRow is a row of the statement Lookup.
type findingRow struct {
	Superseded  bool
	Value       json.RawMessage
	InFlight    bool
	RemainingMs int64
}

// Lookup reads a value of the result cache. If there is no value, the first call gets the single-flight
// lease of the key, and runs its tool. For the next calls InFlight is true: they wait for this value.
func (s *Store) Lookup(ctx context.Context, in cache.LookupRow) (cache.Finding, error) {
	row, _, err := db.Batched[findingRow](ctx, s.db, "look up",
		db.Query("LockFlight", db.Values{"key": in.Key, "invocation_id": in.InvocationID, "tenant_id": in.TenantID}),
		db.Query("Lookup", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "round": in.Round, "key": in.Key,
			"lease": in.Lease,
		}))
	return cache.Finding{
		Superseded: row.Superseded, Value: row.Value, InFlight: row.InFlight, Remaining: time.Duration(row.RemainingMs) * time.Millisecond,
	}, err
}

// deletedCacheRow is a row of the statements InvalidateTags and DeleteExpiredCache.
type deletedCacheRow struct{ Deleted int }

// InvalidateCache invalidates a tenant's cached values that have any of the tags. This includes
// values that calls are still reading from their tools. It returns the number of deleted values.
func (s *Store) InvalidateCache(ctx context.Context, tenantID string, tags ...string) (int, error) {
	if len(tags) == 0 {
		return 0, nil
	}
	sorted := slices.Clone(tags)
	slices.Sort(sorted)
	row, _, err := db.First[deletedCacheRow](ctx, s.db, "invalidate", db.Query("InvalidateTags", db.Values{"tenant_id": tenantID, "tags": slices.Compact(sorted)}))
	return row.Deleted, err
}

// DeleteExpiredCache deletes up to limit expired values and up to limit old tags of the result
// cache. It returns the number of deleted rows.
func (s *Store) DeleteExpiredCache(ctx context.Context, limit int) (int, error) {
	row, _, err := db.First[deletedCacheRow](ctx, s.db, "delete expired values", db.Query("DeleteExpiredCache", db.Values{"batch": limit, "longest": oldestMade}))
	return row.Deleted, err
}

// addKept adds the entry that the result cache stores for a call. An empty key stores nothing.
func addKept(values db.Values, kept *contract.Kept) {
	if kept == nil {
		kept = &contract.Kept{}
	}
	tags := kept.Entry.Tags
	if tags == nil {
		tags = []string{}
	}
	values["cache_key"], values["cache_value"], values["cache_tags"] = db.Text(kept.Entry.Key), db.Document(kept.Value), tags
	values["cache_for"] = time.Duration(kept.Entry.TTLMs) * time.Millisecond
}
