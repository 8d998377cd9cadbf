package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// sample is what one round measured of one case.
type sample struct {
	latencies  []time.Duration // one after the other
	throughput float64         // per second
	trips      []int64         // of each call, one after the other
	cpu        time.Duration   // of one call, under load
	allocs     uint64          // of one call, one after the other
	cost       cost
}

// cost is what the server keeps of a call.
type cost struct{ events, bytes, transitions, actions int64 }

// described is the number of calls of a round whose history is described. All calls of a round have the same history.
const described = 3

// measure runs a case once through: one call after the other, and then many at once. The ids of the calls begin with
// ids.
func measure(ctx context.Context, s *stand, k kase, o Options, ids string) (m sample, err error) {
	if k.remote {
		return measureRemote(ctx, s, k, o, ids)
	}
	n := k.calls(o.Calls)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		trips, began := s.trips.Load(), time.Now()
		if err := k.run(ctx, s, id(ids, i)); err != nil {
			return m, fmt.Errorf("%s: %w", k.name, err)
		}
		m.latencies = append(m.latencies, time.Since(began))
		m.trips = append(m.trips, s.trips.Load()-trips)
	}
	runtime.ReadMemStats(&after)
	m.allocs = (after.Mallocs - before.Mallocs) / uint64(n)
	if m.cost, err = describe(ctx, s, k, ids); err != nil {
		return m, err
	}
	load := n * loadFactor
	cpu, began := processCPU(), time.Now()
	err = atOnce(ctx, load, o.Parallel, func(ctx context.Context, i int) error { return k.run(ctx, s, id(ids+"-load", i)) })
	if err != nil {
		return m, fmt.Errorf("%s: %w", k.name, err)
	}
	m.throughput = float64(load) / time.Since(began).Seconds()
	m.cpu = (processCPU() - cpu) / time.Duration(load)
	return m, nil
}

func id(ids string, i int) string { return fmt.Sprintf("%s-%d", ids, i) }

// atOnce runs f n times, parallel at a time.
func atOnce(ctx context.Context, n, parallel int, f func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// describe asks the server what it keeps of the first calls of a round.
func describe(ctx context.Context, s *stand, k kase, ids string) (cost, error) {
	var found []cost
	for i := range described {
		d, err := s.temporal.DescribeWorkflowExecution(ctx, k.workflowOf(id(ids, i)), "")
		if err != nil {
			if i > 0 {
				break // fewer calls than that were made
			}
			return cost{}, fmt.Errorf("%s: %w", k.name, err)
		}
		actions, err := s.actionsOf(ctx, k.workflowOf(id(ids, i)))
		if err != nil {
			return cost{}, fmt.Errorf("%s: %w", k.name, err)
		}
		info := d.GetWorkflowExecutionInfo()
		found = append(found, cost{info.GetHistoryLength(), info.GetHistorySizeBytes(), info.GetStateTransitionCount(), actions})
	}
	slices.SortFunc(found, func(a, b cost) int { return int(a.transitions - b.transitions) })
	return found[len(found)/2], nil
}

// measureRemote has another process submit the calls. It takes the latencies and the throughput from the report of
// that process.
func measureRemote(ctx context.Context, s *stand, k kase, o Options, ids string) (m sample, err error) {
	n := k.calls(o.Calls)
	trips := s.trips.Load()
	first, err := submit(ctx, s, o, order{IDs: ids, Calls: n, Parallel: 1})
	if err != nil {
		return m, fmt.Errorf("%s: %w", k.name, err)
	}
	m.latencies = first.Latencies
	m.trips = []int64{(s.trips.Load() - trips) / int64(n)}
	if m.cost, err = describe(ctx, s, k, ids); err != nil {
		return m, err
	}
	cpu := processCPU()
	load, err := submit(ctx, s, o, order{IDs: ids + "-load", Calls: n * loadFactor, Parallel: o.Parallel})
	if err != nil {
		return m, fmt.Errorf("%s: %w", k.name, err)
	}
	m.throughput = float64(n*loadFactor) / load.Took.Seconds()
	m.cpu = (processCPU() - cpu + load.CPU) / time.Duration(n*loadFactor)
	m.allocs = first.Allocs
	return m, nil
}
