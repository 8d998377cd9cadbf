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

// oldestMade is how long ago the call of a value that still counts can have been admitted: as long as a value is kept, and as long as a
// call that gets one may take by the most generous policy, with another such time for the people it waits for.
const oldestMade = 3 * toolspec.MaxCacheFor

// findingRow is the row of Lookup.
type findingRow struct {
	Superseded  bool
	Value       json.RawMessage
	Flies       bool
	RemainingMs int64
}

// Lookup finds a value of the result cache. Where there is none, the call is in the air for it, or waits for the one that is.
func (s *Store) Lookup(ctx context.Context, in cache.LookupRow) (cache.Finding, error) {
	row, _, err := db.Batched[findingRow](ctx, s.db, "look up",
		db.Query("LockFlight", db.Values{"key": in.Key, "invocation_id": in.InvocationID, "tenant_id": in.TenantID}),
		db.Query("Lookup", db.Values{
			"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "round": in.Round, "key": in.Key,
			"lease": in.Lease,
		}))
	return cache.Finding{
		Superseded: row.Superseded, Value: row.Value, Flies: row.Flies, Remaining: time.Duration(row.RemainingMs) * time.Millisecond,
	}, err
}

// deletedCacheRow is the row of InvalidateTags and DeleteExpiredCache.
type deletedCacheRow struct{ Deleted int }

// InvalidateCache voids what the result cache of a tenant has under any of the tags, also of calls that are still reading, and returns
// how many values were there.
func (s *Store) InvalidateCache(ctx context.Context, tenantID string, tags ...string) (int, error) {
	if len(tags) == 0 {
		return 0, nil
	}
	sorted := slices.Clone(tags)
	slices.Sort(sorted)
	row, _, err := db.First[deletedCacheRow](ctx, s.db, "invalidate", db.Query("InvalidateTags", db.Values{"tenant_id": tenantID, "tags": slices.Compact(sorted)}))
	return row.Deleted, err
}

// DeleteExpiredCache deletes values of the result cache that are past their time, up to most, and returns how many.
func (s *Store) DeleteExpiredCache(ctx context.Context, most int) (int, error) {
	row, _, err := db.First[deletedCacheRow](ctx, s.db, "delete expired values", db.Query("DeleteExpiredCache", db.Values{"batch": most, "longest": oldestMade}))
	return row.Deleted, err
}

// addKept says what the result cache is to have of a call. No key is nothing.
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
