package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// checkPool checks the name of the pool, if the worker has one.
func (c Config) checkPool() error {
	if c.Pool == "" {
		return nil
	}
	if err := toolspec.CheckPool(c.Pool); err != nil {
		return fmt.Errorf("config: PAWL_POOL: %w", err)
	}
	return nil
}

// maxUnattended bounds the pools that a worker serves in place of their own workers.
const maxUnattended = 16

// unattended serves the task queues of pools that have no worker. Without it, a call would stay on the task
// queue of a pool that is given up: its deadline would not end it, and it would not move to the workers that
// have its tool now. A worker of the shared queue does this, and a worker of a pool only sees whether the
// shared queue has a worker.
type unattended struct {
	pool, namespace string
	make            maker
	pools           func(ctx context.Context, namespace string) ([]catalog.Pool, error)
	shared          func(ctx context.Context, namespace string) (bool, error)
	log             *slog.Logger
	// serves are the workers that run for pools.
	serves map[string]worker.Worker
	// warned says that the last look found no worker of the shared queue.
	warned bool
}

func newUnattended(c Config, newWorker maker, store *postgres.Store) *unattended {
	return &unattended{
		pool: c.Pool, namespace: namespaceOf(c), make: newWorker, pools: store.Pools, shared: store.HasShared, log: c.Log,
		serves: map[string]worker.Worker{},
	}
}

// run looks every catalog.RenewEvery, until ctx ends. It then stops the workers of pools.
func (u *unattended) run(ctx context.Context) {
	defer func() {
		var stopped sync.WaitGroup
		for _, w := range u.serves {
			stopped.Go(w.Stop)
		}
		stopped.Wait()
	}()
	for {
		bounded, cancel := context.WithTimeout(ctx, renewTime)
		if u.pool == "" {
			u.look(bounded)
		} else {
			u.needShared(bounded)
		}
		cancel()
		if !sleep(ctx, catalog.RenewEvery) {
			return
		}
	}
}

// look starts workers for pools that have no live worker, and stops those of pools that have a running one.
func (u *unattended) look(ctx context.Context) {
	pools, err := u.pools(ctx, u.namespace)
	if err != nil {
		return // presence says that the database does not answer
	}
	for pool, w := range u.serves {
		i := slices.IndexFunc(pools, func(p catalog.Pool) bool { return p.Name == pool })
		if i < 0 || pools[i].Running > 0 {
			w.Stop()
			delete(u.serves, pool)
			u.log.InfoContext(ctx, "the pool has workers again, or no calls any more; this worker no longer serves its task queue", "pool", pool)
		}
	}
	for _, p := range pools {
		if _, served := u.serves[p.Name]; served || p.Live > 0 || len(u.serves) >= maxUnattended || toolspec.CheckPool(p.Name) != nil {
			continue
		}
		w := u.make(toolspec.PoolQueue(p.Name))
		if err := w.Start(); err != nil {
			u.log.WarnContext(ctx, "the task queue of a pool without workers could not be served", "pool", p.Name, "reason", errs.Reason(err))
			continue
		}
		u.serves[p.Name] = w
		u.log.WarnContext(ctx, "a pool has no workers; this worker serves its task queue, so that its calls can move to other workers or end at their deadlines",
			"pool", p.Name)
	}
}

// needShared warns if no worker of the shared queue runs: calls start there, and none would reach the pool.
func (u *unattended) needShared(ctx context.Context) {
	found, err := u.shared(ctx, u.namespace)
	if err != nil {
		return
	}
	if !found && !u.warned {
		u.log.WarnContext(ctx, "no worker of the shared task queue runs, so no call reaches this pool: start one without PAWL_POOL", "taskQueue", toolspec.TaskQueue)
	}
	u.warned = !found
}
