package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/internal/postgres/db"
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

const (
	// maxUnattended bounds the pools that a worker serves in place of their own workers.
	maxUnattended = 16
	// unattendedTurn is how long a worker serves a pool before it gives the place to another pool that waits. That is
	// enough: a call that moves, or whose deadline has passed, leaves the pool in seconds.
	unattendedTurn = 5 * time.Minute
	// countEvery is the time between two counts of the open calls of a pool.
	countEvery = time.Minute
	// lookTime bounds one look at the pools.
	lookTime = 10 * time.Second
)

// unattended serves the task queues of pools that have open calls and no worker. Without it, a call would stay on the
// task queue of a pool whose workers an operator has removed for good: its deadline would not end it, and it would not
// move to the workers that have its tool now. Only a worker of the shared queue serves such pools. A worker of a pool
// only checks whether the shared queue has a worker.
type unattended struct {
	pool, namespace string
	make            maker
	pools           func(ctx context.Context, namespace string) ([]catalog.Pool, error)
	// open counts the open calls that are on a task queue.
	open func(ctx context.Context, queue string) (int64, error)
	// shared reports whether a worker of the shared queue runs.
	shared func(ctx context.Context, namespace string) (bool, error)
	log    *slog.Logger
	now    func() time.Time
	// known has the pools without a live worker, by name.
	known map[string]*poolWithoutWorker
	// warned says that the last look found no worker of the shared queue.
	warned bool
	// withoutPlace has the names of the pools that the last look could not serve, because maxUnattended pools had the
	// places.
	withoutPlace []string
}

// poolWithoutWorker is a pool without a live worker.
type poolWithoutWorker struct {
	name string
	// hasCalls says that open calls are on the task queue of the pool.
	hasCalls bool
	// countedAt is the time of the last count of these calls.
	countedAt time.Time
	// substitute is the Temporal worker that this process runs for the pool, or nil.
	substitute worker.Worker
	// since is the time at which the substitute started or, if there is none, at which the last one stopped.
	since time.Time
}

func newUnattended(c Config, newWorker maker, store *postgres.Store, temporal client.Client) *unattended {
	return &unattended{
		pool: c.Pool, namespace: namespaceOf(c), make: newWorker, pools: store.Pools, shared: store.HasShared, log: c.Log,
		open: func(ctx context.Context, queue string) (int64, error) {
			return OpenCalls(ctx, temporal, queue)
		},
		now: time.Now, known: map[string]*poolWithoutWorker{},
	}
}

// OpenCalls counts the calls that are on a task queue now.
func OpenCalls(ctx context.Context, temporal client.Client, queue string) (int64, error) {
	counted, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("TaskQueue = '%s' AND WorkflowType = '%s' AND ExecutionStatus = 'Running'", queue, toolspec.WorkflowType),
	})
	return counted.GetCount(), err
}

// run calls look at the interval catalog.RenewEvery, until ctx ends. It then stops the workers of
// pools.
func (u *unattended) run(ctx context.Context) {
	defer func() {
		var stopped sync.WaitGroup
		for _, p := range u.known {
			if p.substitute != nil {
				stopped.Go(p.substitute.Stop)
			}
		}
		stopped.Wait()
	}()
	for {
		bounded, cancel := context.WithTimeout(ctx, lookTime)
		if u.pool == "" {
			u.look(bounded)
		} else {
			u.warnWithoutShared(bounded)
		}
		cancel()
		if db.Pause(ctx, catalog.RenewEvery); ctx.Err() != nil {
			return
		}
	}
}

// look starts workers for pools that have open calls and no live worker. It stops its workers for pools that
// have a live worker again or no open calls any more. If there are more such pools than maxUnattended, they
// take turns.
func (u *unattended) look(ctx context.Context) {
	pools, err := u.pools(ctx, u.namespace)
	if err != nil {
		return // presence logs that the database does not answer
	}
	waiting := u.count(ctx, pools)
	served := 0
	for _, p := range u.known {
		if p.substitute != nil {
			served++
		}
	}
	for len(waiting) > 0 && served < maxUnattended {
		if u.serve(ctx, waiting[0]) {
			served++
		}
		waiting = waiting[1:]
	}
	for len(waiting) > 0 {
		longest := u.longestServed()
		if longest == nil || u.now().Sub(longest.since) < unattendedTurn {
			break
		}
		u.stop(longest)
		u.serve(ctx, waiting[0])
		waiting = waiting[1:]
	}
	withoutPlace := make([]string, 0, len(waiting))
	for _, p := range waiting {
		withoutPlace = append(withoutPlace, p.name)
	}
	slices.Sort(withoutPlace)
	if len(withoutPlace) > 0 && !slices.Equal(withoutPlace, u.withoutPlace) {
		u.log.WarnContext(ctx, "more pools have open calls and no workers than this worker serves at a time; it serves them in turns: start their workers",
			"waiting", withoutPlace, "places", maxUnattended)
	}
	u.withoutPlace = withoutPlace
}

// count updates u.known, stops the substitutes of pools that need none any more, and returns the pools with open calls
// for which no worker runs. The pool that has waited longest is first.
func (u *unattended) count(ctx context.Context, pools []catalog.Pool) (waiting []*poolWithoutWorker) {
	for name, p := range u.known {
		i := slices.IndexFunc(pools, func(at catalog.Pool) bool { return at.Name == name })
		// A pool may have live workers and none that runs, for example while they restart. Then a substitute that runs
		// goes on, and no substitute starts.
		hasNoWorker := i >= 0 && pools[i].Running == 0
		if hasNoWorker && (p.substitute != nil || pools[i].Live == 0) {
			continue
		}
		delete(u.known, name)
		if p.substitute != nil {
			u.stop(p)
			u.log.InfoContext(ctx, "the pool has workers again, or is forgotten; this worker no longer serves its task queue", "pool", name)
		}
	}
	for _, at := range pools {
		p := u.known[at.Name]
		if p == nil {
			if at.Live > 0 || toolspec.CheckPool(at.Name) != nil {
				continue
			}
			p = &poolWithoutWorker{name: at.Name}
			u.known[at.Name] = p
		}
		if u.now().Sub(p.countedAt) >= countEvery {
			// If Temporal cannot count the calls, the pool may have some.
			n, err := u.open(ctx, toolspec.PoolQueue(p.name))
			p.hasCalls, p.countedAt = err != nil || n > 0, u.now()
		}
		switch {
		case p.hasCalls && p.substitute == nil:
			waiting = append(waiting, p)
		case !p.hasCalls && p.substitute != nil:
			u.stop(p)
			u.log.InfoContext(ctx, "the pool has no open calls any more; this worker no longer serves its task queue", "pool", p.name)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *poolWithoutWorker) int { return a.since.Compare(b.since) })
	return waiting
}

// serve starts the worker of a pool, and reports whether it runs.
func (u *unattended) serve(ctx context.Context, p *poolWithoutWorker) bool {
	w := u.make(toolspec.PoolQueue(p.name))
	if err := w.Start(); err != nil {
		u.log.WarnContext(ctx, "the task queue of a pool without workers could not be served", "pool", p.name, "reason", errs.Reason(err))
		return false
	}
	p.substitute, p.since = w, u.now()
	u.log.WarnContext(ctx, "a pool has open calls and no workers; this worker serves its task queue, so that its calls can move to other workers or end at their deadlines",
		"pool", p.name)
	return true
}

func (u *unattended) stop(p *poolWithoutWorker) {
	p.substitute.Stop()
	p.substitute, p.since = nil, u.now()
}

func (u *unattended) longestServed() (longest *poolWithoutWorker) {
	for _, p := range u.known {
		if p.substitute != nil && (longest == nil || p.since.Before(longest.since)) {
			longest = p
		}
	}
	return longest
}

// warnWithoutShared warns if no worker of the shared queue runs. Calls start on the shared queue, so without
// such a worker no call reaches the pool.
func (u *unattended) warnWithoutShared(ctx context.Context) {
	found, err := u.shared(ctx, u.namespace)
	if err != nil {
		return
	}
	if !found && !u.warned {
		u.log.WarnContext(ctx, "no worker of the shared task queue runs, so no call reaches this pool: start one without PAWL_POOL", "taskQueue", toolspec.TaskQueue)
	}
	u.warned = !found
}
