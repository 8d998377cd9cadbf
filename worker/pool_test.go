package worker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdk "go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/internal/postgres/catalog"
)

// queueWorker is a fake worker of a task queue. It records whether it runs.
type queueWorker struct {
	sdk.Worker
	queue   string
	serving map[string]bool
}

func (q queueWorker) Start() error { q.serving[q.queue] = true; return nil }
func (q queueWorker) Stop()        { delete(q.serving, q.queue) }

// TestUnattendedPoolsTakeTurns: a worker serves only pools that have open calls and no worker. If there are
// more such pools than it serves at a time, each pool gets its turn, and the log names the waiting pools.
func TestUnattendedPoolsTakeTurns(t *testing.T) {
	t.Parallel()
	serving, calls, now := map[string]bool{}, map[string]bool{}, time.Now()
	var log strings.Builder
	var pools []catalog.Pool
	u := &unattended{
		known: map[string]*poolWithoutWorker{}, now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(&log, nil)),
		make:  func(queue string) sdk.Worker { return queueWorker{queue: queue, serving: serving} },
		pools: func(context.Context, string) ([]catalog.Pool, error) { return pools, nil },
		open: func(_ context.Context, queue string) (int64, error) {
			if calls[queue] {
				return 1, nil
			}
			return 0, nil
		},
	}
	for n := range 40 { // the pool that was seen last is first; only the older half of the pools has calls
		name := fmt.Sprintf("p%02d", n)
		pools = append(pools, catalog.Pool{Name: name})
		calls["pawl-"+name] = n >= 20
	}
	seen := map[string]bool{}
	for range 60 {
		u.look(t.Context())
		if len(serving) != maxUnattended {
			t.Fatalf("it serves %d pools, want %d", len(serving), maxUnattended)
		}
		for queue := range serving {
			if seen[queue] = true; !calls[queue] {
				t.Fatalf("it serves %s, which has no calls", queue)
			}
		}
		now = now.Add(catalog.RenewEvery)
	}
	if len(seen) != 20 {
		t.Errorf("it served %d pools in half an hour, want all 20 that have calls", len(seen))
	}
	if !strings.Contains(log.String(), "it serves them in turns") || !strings.Contains(log.String(), "p36") {
		t.Errorf("the log is %s", &log)
	}
	// A pool without calls, and a pool with a worker, are not served.
	for n := range pools {
		calls["pawl-"+pools[n].Name] = n < 22
	}
	pools[21].Running, pools[21].Live = 1, 1
	now = now.Add(countEvery)
	u.look(t.Context())
	u.look(t.Context())
	if serving["pawl-p21"] || len(serving) != maxUnattended || serving["pawl-p30"] {
		t.Errorf("it serves %v", serving)
	}
}
