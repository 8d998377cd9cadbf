package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// runningFor is how long after its last renewal a worker counts as running for WorkerSources,
// ToolConflicts, Pools and PoolsOf. It is shorter than liveFor, so that a worker that a deployment has
// replaced is soon left out, and is not reported as a fault.
const runningFor = RenewEvery * 3 / 2

// SourceState says what a worker has of one source of tools.
type SourceState struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	// Tools is the number of its tools that the worker has.
	Tools int `json:"tools"`
	// Fault says why the source does not work as it should; empty if it does. A worker with a fault is
	// degraded.
	Fault string `json:"fault,omitempty"`
	// Since is when the fault began, in RFC 3339.
	Since string `json:"since,omitempty"`
	// LeftOut are the first of the tools that the worker has not taken from the source.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// LeftOutCount is the number of all tools that the worker has not taken from the source.
	LeftOutCount int `json:"leftOutCount,omitempty"`
}

// LeftOut is a tool that a worker has not taken from a source.
type LeftOut struct {
	ToolID string `json:"toolId"`
	Why    string `json:"why"`
}

// WorkerSources are the sources of a running worker.
type WorkerSources struct {
	WorkerID string        `json:"workerId"`
	Sources  []SourceState `json:"sources"`
}

type sourcesRow struct {
	WorkerID string
	Sources  json.RawMessage
}

// WorkerSources returns the sources of the running workers in the namespace that UseNamespace set. It leaves out
// workers of old releases, which do not publish their sources.
func (s *Store) WorkerSources(ctx context.Context) ([]WorkerSources, error) {
	const op = "worker sources"
	rows, err := db.All[sourcesRow](ctx, s.db, op, db.Query("WorkerSources", s.running(s.namespace)))
	if err != nil {
		return nil, err
	}
	all := make([]WorkerSources, len(rows))
	for i, row := range rows {
		all[i].WorkerID = row.WorkerID
		if all[i].Sources, err = db.Decoded[[]SourceState](row.Sources); err != nil {
			return nil, db.Failure(op, err)
		}
	}
	return all, nil
}

type conflictRow struct{ ToolID string }

// ToolConflicts returns the tools of which running workers of a namespace have different definitions,
// ordered by id. LiveSpecs has one of the definitions. An empty namespace means all workers.
func (s *Store) ToolConflicts(ctx context.Context, namespace string) ([]string, error) {
	rows, err := db.All[conflictRow](ctx, s.db, "tool conflicts", db.Query("ToolConflicts", s.running(namespace)))
	return db.Column(rows, func(r conflictRow) string { return r.ToolID }), err
}

func (s *Store) running(namespace string) db.Values {
	return db.Values{"running": runningFor.Truncate(time.Second), "namespace": db.Text(namespace)}
}
