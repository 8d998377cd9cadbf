package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

const (
	// RenewEvery is the time between two renewals of a worker.
	RenewEvery = 30 * time.Second
	// liveFor is how long a worker is live after its last renewal. A worker that restarts within
	// this time stays in the lists.
	liveFor = 2 * time.Minute
	// keepWorkers is how long a worker that is no longer live keeps its row.
	keepWorkers = 15 * time.Minute
	// keepSpecs is how long a definition that no worker has any more is kept. `pawl policy backtest` and
	// `pawl mcp review` read such definitions.
	keepSpecs = 90 * 24 * time.Hour
	// maxUnused bounds how many definitions of discovered tools are kept although no worker has them any more. Registered tools do not count.
	maxUnused = 5000
	// maxUnusedOfTenant bounds the same for the tools that are registered for one tenant.
	maxUnusedOfTenant = 2000
	// specBatch bounds the definitions that one call of DeleteOldSpecs deletes.
	specBatch = 5000
)

// Worker is a process that runs calls of a namespace.
type Worker struct {
	ID, Namespace string
	// Pool is the pool whose task queue the worker polls; empty for the shared queue.
	Pool string
	// Sources say where its tools come from.
	Sources []SourceState
}

// PublishSpecs stores the tools and the sources of a worker for other programs. They replace the
// tools and the sources that the worker had. The worker is live from now on, if RenewWorker renews it
// at least every RenewEvery.
func (s *Store) PublishSpecs(ctx context.Context, worker Worker, specs []toolspec.Spec) error {
	const op = "publish specs"
	ids, digests, documents := make([]string, len(specs)), make([]string, len(specs)), make([]*string, len(specs))
	for i, spec := range specs {
		var err error
		if documents[i], err = db.Encoded(spec); err != nil {
			return db.Failure(op, err)
		}
		ids[i], digests[i] = spec.Name, spec.Digest
	}
	sources, err := db.Encoded(worker.Sources)
	if err != nil {
		return db.Failure(op, err)
	}
	return s.db.ExecAll(ctx, op,
		db.Query("LockSpecs", db.Values{"worker_id": worker.ID, "tool_ids": ids, "digests": digests}),
		db.Query("PublishSpecs", db.Values{"worker_id": worker.ID, "tool_ids": ids, "digests": digests, "specs": documents}),
		db.Query("AddWorker", db.Values{"worker_id": worker.ID, "namespace": worker.Namespace, "pool": worker.Pool, "sources": sources}),
		db.Query("AddPool", db.Values{"namespace": worker.Namespace, "pool": worker.Pool}),
		db.Query("DropWorkerTools", db.Values{"worker_id": worker.ID, "tool_ids": ids, "digests": digests}),
		db.Query("SetWorkerTools", db.Values{"worker_id": worker.ID, "tool_ids": ids, "digests": digests}),
		db.Query("DeleteOldWorkers", db.Values{"keep": keepWorkers}),
		db.Query("DeleteOldPools", db.Values{"waits": keepPools}),
	)
}

// DeleteOldSpecs deletes definitions that no worker has: definitions older than keepSpecs, and the oldest discovered or registered
// definitions above maxUnused or maxUnusedOfTenant. It repeats the statement until all are deleted.
func (s *Store) DeleteOldSpecs(ctx context.Context) (deleted int64, err error) {
	for {
		n, err := s.db.Exec(ctx, "delete old specs", db.Query("DeleteOldSpecs", db.Values{
			"keep": keepSpecs, "most": maxUnused, "most_tenant": maxUnusedOfTenant, "batch": specBatch,
		}))
		if deleted += n; err != nil || n < specBatch {
			return deleted, err
		}
	}
}

// RenewWorker keeps a worker live. found is false if the worker has no row any more: then
// PublishSpecs makes it live again.
func (s *Store) RenewWorker(ctx context.Context, workerID string) (found bool, err error) {
	n, err := s.db.Exec(ctx, "renew worker", db.Query("RenewWorker", db.Values{"worker_id": workerID}))
	return n > 0, err
}

type specRow struct {
	Spec json.RawMessage
}

// Specs returns the tools that workers have, or had within keepSpecs, ordered by name. For each tool it returns
// a spec that a worker has or, if no worker has the tool, the spec that a worker had last.
func (s *Store) Specs(ctx context.Context) ([]toolspec.Spec, error) {
	return s.specs(ctx, "specs", db.Query("Specs", db.Values{}))
}

// LiveSpecs returns the tools of the live workers of the namespace of UseNamespace, ordered by name. If they have different
// definitions of a tool, it returns the definition of the worker that started last.
func (s *Store) LiveSpecs(ctx context.Context) ([]toolspec.Spec, error) {
	return s.liveSpecs(ctx, catalog.Viewer{})
}

// liveSpecs returns the specs of LiveSpecs, without the registered tools of other tenants and without tools that the
// viewer's run may not use.
func (s *Store) liveSpecs(ctx context.Context, by catalog.Viewer) ([]toolspec.Spec, error) {
	var tenant string
	if by.TenantID != "" {
		tenant = toolspec.TenantNamespace(by.TenantID)
	}
	return s.specs(ctx, "live specs", db.Query("LiveSpecs", db.Values{
		"live": liveFor, "namespace": db.Text(s.namespace), "tenant": tenant, "tool_ids": db.Column(by.ToolIDs, db.Text[string]),
	}))
}

// DiscoveredSpec returns the spec of a tool with this toolspec.Discovered.Digest, as a worker published it
// last. found is false if no worker has published it.
func (s *Store) DiscoveredSpec(ctx context.Context, toolID, digest string) (spec toolspec.Spec, found bool, err error) {
	specs, err := s.specs(ctx, "discovered spec", db.Query("DiscoveredSpec", db.Values{"tool_id": db.Text(toolID), "digest": db.Text(digest)}))
	if err != nil || len(specs) == 0 {
		return toolspec.Spec{}, false, err
	}
	return specs[0], true, nil
}

func (s *Store) specs(ctx context.Context, op string, query db.Step) ([]toolspec.Spec, error) {
	rows, err := db.All[specRow](ctx, s.db, op, query)
	if err != nil {
		return nil, err
	}
	specs := make([]toolspec.Spec, len(rows))
	for i, row := range rows {
		if specs[i], err = db.Decoded[toolspec.Spec](row.Spec); err != nil {
			return nil, db.Failure(op, err)
		}
	}
	return specs, nil
}
