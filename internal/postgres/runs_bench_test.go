package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
)

// BenchmarkEventsToAWatcher writes 1 000 events per second to one watched run and reports the delay until its watcher has them.
func BenchmarkEventsToAWatcher(b *testing.B) {
	for _, writers := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) { eventsToAWatcher(b, writers) })
	}
}

// openDurable opens a bench on a new server that waits for the disk at each commit, as the servers of users do. The shared server of the tests does not.
func openDurable(b *testing.B) bench {
	server, err := devstack.StartPostgres(b.Context(), devstack.PostgresOptions{Dir: b.TempDir(), Fsync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	d := openAt(b, server.URL())
	if _, err := d.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	return d
}

func eventsToAWatcher(b *testing.B, writers int) {
	d := openDurable(b)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	delays := make(chan time.Duration, b.N)
	go func() {
		for e, err := range d.Watch(ctx, tenant, inRun, 0) {
			if err != nil {
				b.Error(err)
				return
			}
			var sent int64
			if _, err := fmt.Sscan(e.Text, &sent); err != nil {
				b.Error(err)
			}
			delays <- time.Since(time.Unix(0, sent))
		}
	}()
	until(b, "the run is watched", func() bool { return value[int](d, `SELECT count(*) FROM runs WHERE watched_until > now()`) == 1 })
	b.ResetTimer()
	began := time.Now()
	var next atomic.Int64
	together(writers, func(int) {
		for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
			<-time.After(time.Until(began.Add(time.Duration(n) * time.Millisecond))) // the rate, not a wait for a condition
			if err := d.Append(b.Context(), tenant, inRun, client.TurnEvent{Key: fmt.Sprint(n), Text: fmt.Sprint(time.Now().UnixNano())}); err != nil {
				b.Error(err)
			}
		}
	})
	wrote := time.Since(began)
	all := make([]time.Duration, b.N)
	for i := range all {
		all[i] = <-delays
	}
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/wrote.Seconds(), "events/s")
	b.ReportMetric(float64(all[b.N/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[b.N*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkSettleInRuns settles calls from four connections at the same time, all calls in one run or each in its own run.
func BenchmarkSettleInRuns(b *testing.B) {
	for _, runs := range []string{"one", "many"} {
		b.Run(runs, func(b *testing.B) {
			d := open(b)
			for i := range b.N {
				d.admit(fmt.Sprintf("c%d", i))
			}
			if runs == "many" {
				// The identity of a call includes its run. So the calls are admitted in one run, and the run ids of their rows are changed afterwards.
				d.sql(`ALTER TABLE invocations DROP CONSTRAINT invocations_id_is_identity`)
				d.sql(`UPDATE invocations SET run_id = tool_call_id`)
			}
			b.ResetTimer()
			var next atomic.Int64
			together(4, func(int) {
				for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
					d.settle(settleIn(fmt.Sprintf("c%d", n-1), 1))
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
