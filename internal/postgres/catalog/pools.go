package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy/document"
)

// keepPools is how long a pool without a worker keeps its row. It is longer than the longest wait of a
// call for an approval, because such a call is on the task queue of its pool.
const keepPools = document.MaxExpiry + 24*time.Hour

type liveRow struct{ Live bool }

// IsLive reports whether a live worker of the namespace has the tool. A worker of a pool counts until its
// row is deleted.
func (s *Store) IsLive(ctx context.Context, namespace, toolID string) (bool, error) {
	rows, err := db.All[liveRow](ctx, s.db, "is live", db.Query("IsLive", db.Values{
		"namespace": namespace, "tool_id": db.Text(toolID), "live": liveFor, "keep": keepWorkers,
	}))
	return err == nil && rows[0].Live, err
}

type poolRow struct{ Pool string }

// PoolsOf returns the pools of the namespace that have a running worker with the tool, sorted. The shared
// queue is "".
func (s *Store) PoolsOf(ctx context.Context, namespace, toolID string) ([]string, error) {
	values := s.running(namespace)
	values["tool_id"] = db.Text(toolID)
	rows, err := db.All[poolRow](ctx, s.db, "pools of a tool", db.Query("PoolsOf", values))
	return db.Column(rows, func(r poolRow) string { return r.Pool }), err
}

type toolPoolsRow struct {
	ToolID string
	Pools  json.RawMessage
}

// ToolPools returns, for each tool that no live worker of the shared queue has, the pools whose live workers have it, sorted. Calls of all other
// tools go to the shared queue.
func (s *Store) ToolPools(ctx context.Context) (map[string][]string, error) {
	const op = "tool pools"
	rows, err := db.All[toolPoolsRow](ctx, s.db, op, db.Query("ToolPools", db.Values{"live": liveFor, "namespace": db.Text(s.namespace)}))
	if err != nil {
		return nil, err
	}
	pools := make(map[string][]string, len(rows))
	for _, row := range rows {
		if pools[row.ToolID], err = db.Decoded[[]string](row.Pools); err != nil {
			return nil, db.Failure(op, err)
		}
	}
	return pools, nil
}

// Pool is a pool on whose task queue calls may be.
type Pool struct {
	Name string
	// Running is the number of its running workers: see runningFor.
	Running int
	// Live is the number of its live workers, of which some may be restarting: see liveFor.
	Live int
}

type poolsRow struct {
	Pool          string
	Running, Live int
}

// Pools returns the pools of a namespace that had a worker in the last 31 days, the last seen first.
func (s *Store) Pools(ctx context.Context, namespace string) ([]Pool, error) {
	values := s.running(namespace)
	values["live"], values["waits"] = liveFor, keepPools
	rows, err := db.All[poolsRow](ctx, s.db, "pools", db.Query("Pools", values))
	return db.Column(rows, func(r poolsRow) Pool { return Pool{Name: r.Pool, Running: r.Running, Live: r.Live} }), err
}

// HasShared reports whether the shared queue of a namespace has a live worker.
func (s *Store) HasShared(ctx context.Context, namespace string) (bool, error) {
	rows, err := db.All[liveRow](ctx, s.db, "has shared", db.Query("HasShared", db.Values{"namespace": namespace, "live": liveFor}))
	return err == nil && rows[0].Live, err
}
