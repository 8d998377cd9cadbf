package capacity

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

var flood = flag.Int("flood", 100, "the number of calls of the first tenant in TestFlood: task flood makes 10 000")

// TestFlood: the calls of a tenant do not wait until the queued calls of another tenant have ended. While both tenants have queued calls,
// Temporal gives workers the tasks of the tenants in turn.
func TestFlood(t *testing.T) {
	t.Parallel()
	const others = 10
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	read := func(tenant string, n int) toolspec.Invocation {
		inv := e2etest.Invocation(fmt.Sprint(tenant, n), "test__fast", `{"text":"hello"}`)
		inv.Context.TenantID = tenant
		return inv
	}
	start := func(tenant string, n int) []*pawl.Call {
		calls := make([]*pawl.Call, n)
		var group errgroup.Group
		group.SetLimit(16)
		for i := range calls {
			group.Go(func() error {
				calls[i] = w.Start(read(tenant, i))
				return nil
			})
		}
		_ = group.Wait()
		return calls
	}
	// No worker runs yet, so all calls are in the queue.
	many, few := start("acme", *flood), start("globex", others)
	w.Work(worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)))
	for _, call := range few {
		e2etest.WantText(t, w.Result(call), "hello")
	}
	ended := e2etest.Scalar[int](w, `SELECT count(*) FROM invocations WHERE tenant_id = 'acme' AND settled_at IS NOT NULL`)
	t.Logf("when the %d calls of one tenant had ended, %d of the %d earlier calls of the other one had", others, ended, *flood)
	if ended > *flood/2 {
		t.Errorf("%d of %d calls of one tenant ended before the %d calls of another one", ended, *flood, others)
	}
	if *flood < 10_000 {
		return
	}
	beside := latencies(w, func(i int) toolspec.Invocation { return read("globex", others+i) })
	if e2etest.Scalar[int](w, `SELECT count(*) FROM invocations WHERE tenant_id = 'acme' AND settled_at IS NOT NULL`) == *flood {
		t.Error("the flood was over before the calls beside it")
	}
	for _, call := range many {
		e2etest.WantText(t, w.Result(call), "hello")
	}
	alone := latencies(w, func(i int) toolspec.Invocation { return read("globex", 1000+i) })
	p95 := len(alone) * 95 / 100
	t.Logf("calls of another tenant, one after the other: half of them took up to %s and 95 %% up to %s beside the flood, %s and %s after it",
		beside[len(beside)/2], beside[p95], alone[len(alone)/2], alone[p95])
}

// latencies makes 100 calls one after the other, and returns how long they took, the shortest first.
func latencies(w *e2etest.World, read func(i int) toolspec.Invocation) (took []time.Duration) {
	for i := range 100 {
		began := time.Now()
		e2etest.WantText(w.T, w.Invoke(read(i)), "hello")
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}
