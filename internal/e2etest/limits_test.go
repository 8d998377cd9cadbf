package e2etest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

const limitedPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    limits:
      - {tool: test__once, per: [actor, connection], quota: {tokens: 1, every: 1h}}
      - {tool: test__two, quota: {tokens: 2, every: 1h}}
      - {tool: test__turns, quota: {tokens: 1, every: 3s}, then: wait}
      - {tool: test__places, concurrent: 2, then: wait}
      - {tool: test__brief, concurrent: 1, then: wait, waitFor: 5s}
      - {tool: test__busy, concurrent: 1}
      - {tool: test__held, concurrent: 1, then: wait}
      - {tool: test__both, quota: {tokens: 100, every: 1h}}
      - {tool: test__both, concurrent: 100}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    limits:
      - {tool: test__once, per: [actor, connection], quota: {tokens: 1, every: 1h}}
`

func limitedBy(id, toolID, tenantID, actorID, connectionID string) toolspec.Invocation {
	inv := invocation(id, toolID, `{"text":"hello"}`)
	inv.Context.TenantID, inv.Context.ActorID = tenantID, actorID
	if connectionID == "" {
		return inv
	}
	return over(inv, connectionID)
}

// hung is a tool that holds calls until they are let go, and counts how many are inside: calls, of which a busy machine may make an attempt
// again before it has heard of the end of the one before.
type hung struct {
	entered chan string
	release chan struct{}

	mu      sync.Mutex
	inside  map[string]int // attempts, by call
	highest int
}

func newHung() *hung {
	return &hung{entered: make(chan string, 64), release: make(chan struct{}), inside: map[string]int{}}
}

// counts are how many calls are inside, and how many there were at most.
func (h *hung) counts() (inside, highest int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.inside), h.highest
}

func (h *hung) step(id string, by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside[id] += by; h.inside[id] == 0 {
		delete(h.inside, id)
	}
	h.highest = max(h.highest, len(h.inside))
}

func (h *hung) run(ctx context.Context, in in, call toolspec.Call) (out, error) {
	h.step(call.ToolCallID, 1)
	defer h.step(call.ToolCallID, -1)
	h.entered <- call.ToolCallID
	select {
	case <-h.release:
		return echo(ctx, in, call)
	case <-ctx.Done():
		return out{}, ctx.Err()
	}
}

// queued waits until a call waits for capacity, by what the call says.
func (w *world) queued(call *pawl.Call) toolspec.State {
	w.t.Helper()
	var state toolspec.State
	w.until(func() bool {
		var err error
		state, err = w.pawl.State(w.t.Context(), call.WorkflowID)
		return err == nil && state.Status == toolspec.StatusWaitingCapacity
	}, call.WorkflowID+" waits for capacity")
	return state
}

// TestLimits: quotas and semaphores of the policy, on a real worker.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limitedPolicy)
	w.sweepEvery = 2 * time.Second
	places, held := newHung(), newHung()
	var effects ledger
	stays := within(2 * time.Minute)
	stops := hook.New("stops", hook.WillInjectSecrets.Do(func(_ context.Context, v *hook.Check) error {
		if v.ToolCallID() == "stopped" {
			return v.Abort("stopped by a test")
		}
		return nil
	}))
	w.work(worker.Hooks(stops), worker.Tools(
		tool("test__once", effects.counted(echo), fast), tool("test__two", echo), tool("test__turns", echo, fast),
		tool("test__places", places.run, stays), tool("test__brief", held.run, stays), tool("test__busy", held.run, stays), tool("test__held", held.run, stays),
		tool("test__both", echo, fast),
	))
	on := func(name string, f func(w *world)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			f(&w)
		})
	}
	on("tenants, actors and connections are apart", func(w *world) {
		w.account("acme", "c1", actor, "user:bob")
		w.account("acme", "c2", actor)
		w.account("globex", "c1", actor)
		for round := range 2 {
			for i, inv := range []toolspec.Invocation{
				limitedBy("a", "test__once", "acme", actor, "c1"), limitedBy("b", "test__once", "acme", actor, "c2"),
				limitedBy("c", "test__once", "acme", "user:bob", "c1"), limitedBy("d", "test__once", "globex", actor, "c1"),
				limitedBy("e", "test__once", "acme", actor, ""),
			} {
				inv.ToolCallID += fmt.Sprint(round)
				r := w.invoke(inv)
				if round == 0 {
					wantText(w.t, r, "hello")
					continue
				}
				wantCode(w.t, r, toolspec.CodeRateLimited)
				if r.RetryAfterMs < 3_000_000 || r.RetryAfterMs > 3_600_000 || effects.of(inv.ToolCallID) != 0 {
					w.t.Errorf("%d: %+v", i, r)
				}
			}
		}
	})
	on("what was not dispatched costs nothing", func(w *world) {
		for range 3 {
			wantCode(w.t, w.invoke(invocation("stopped", "test__two", `{"text":"hello"}`)), toolspec.CodeAborted)
		}
		for i, code := range []toolspec.Code{"", "", toolspec.CodeRateLimited} {
			if r := w.invoke(invocation(fmt.Sprint("two-", i), "test__two", `{"text":"hello"}`)); r.ErrorCode != code {
				w.t.Errorf("%d: %+v, want %q", i, r, code)
			}
		}
	})
	on("turns", func(w *world) {
		began := time.Now()
		var calls []*pawl.Call
		for i := range 3 {
			calls = append(calls, w.start(invocation(fmt.Sprint("turn-", i), "test__turns", `{"text":"hello"}`)))
		}
		for _, call := range calls {
			wantText(w.t, w.result(call), "hello")
		}
		if took := time.Since(began); took < 6*time.Second {
			w.t.Errorf("three calls took %s, and one may run every three seconds", took)
		}
	})
	on("places", func(w *world) {
		var calls []*pawl.Call
		for i := range 6 {
			calls = append(calls, w.start(invocation(fmt.Sprint("place-", i), "test__places", `{"text":"hello"}`)))
		}
		var inside []string
		for len(inside) < 2 {
			if id := receive(w.t, places.entered); !slices.Contains(inside, id) {
				inside = append(inside, id)
			}
		}
		waiting := 0
		for _, call := range calls {
			if slices.Contains(inside, strings.TrimPrefix(call.WorkflowID, "tool:acme:"+invocation("", "", "").Context.RunID+":")) {
				continue
			}
			waiting++
			state := w.queued(call)
			if !strings.Contains(state.Waiting, "2 calls run") || !strings.Contains(w.details(call.WorkflowID), "Waiting for capacity") {
				w.t.Errorf("it waits for %q, and shows %s", state.Waiting, w.details(call.WorkflowID))
			}
			w.until(func() bool { return w.attributes(call.WorkflowID)["PawlStatus"] == "waiting_capacity" }, "the search attribute says so")
			d, err := w.store.Show(w.t.Context(), "acme", call.InvocationID)
			if err != nil || d.Status != toolspec.StatusWaitingCapacity || len(d.Capacity) != 1 || d.Capacity[0].State != "waiting" {
				w.t.Errorf("the record shows %s, %+v, %v", d.Status, d.Capacity, err)
			}
		}
		if waiting != 4 {
			w.t.Errorf("%d calls wait, want 4", waiting)
		}
		// One that is cancelled leaves the queue.
		for _, call := range calls {
			if state, err := w.pawl.State(w.t.Context(), call.WorkflowID); err == nil && state.Status == toolspec.StatusWaitingCapacity {
				if err := w.temporal.CancelWorkflow(w.t.Context(), call.WorkflowID, ""); err != nil {
					w.t.Fatal(err)
				}
				wantCode(w.t, w.result(call), toolspec.CodeCancelled)
				break
			}
		}
		close(places.release)
		ok := 0
		for _, call := range calls {
			if r := w.result(call); r.OK {
				ok++
			}
		}
		if _, highest := places.counts(); highest != 2 || ok != 5 {
			w.t.Errorf("%d were inside at once, and %d calls have a value", highest, ok)
		}
		if n := scalar[int](w, `SELECT count(*)::int FROM leases WHERE key LIKE '%test\_\_places%'`); n != 0 {
			w.t.Errorf("%d leases are left", n)
		}
	})
	on("no place in time", func(w *world) {
		for _, c := range []struct{ tool, id string }{{"test__brief", "brief"}, {"test__busy", "busy"}} {
			call := w.start(invocation(c.id+"-first", c.tool, `{"text":"hello"}`))
			w.until(func() bool {
				return scalar[int](w, `SELECT count(*)::int FROM leases WHERE key LIKE $1`, `%`+c.tool+`%`) == 1
			}, c.id+" is held")
			second := invocation(c.id+"-second", c.tool, `{"text":"hello"}`)
			r := w.invoke(second)
			wantCode(w.t, r, toolspec.CodeCapacity)
			waits := count(w.history(second.Identity().WorkflowID(), ""), enumspb.EVENT_TYPE_TIMER_STARTED)
			took := time.Duration(r.EndedAtMs-r.StartedAtMs) * time.Millisecond
			if brief := c.id == "brief"; r.RetryAfterMs != 1000 || (waits > 0) != brief || brief && took < 5*time.Second {
				w.t.Errorf("%s: %+v after %s and %d waits", c.id, r, took, waits)
			}
			if err := w.temporal.CancelWorkflow(w.t.Context(), call.WorkflowID, ""); err != nil {
				w.t.Fatal(err)
			}
			wantCode(w.t, w.result(call), toolspec.CodeCancelled)
			if n := scalar[int](w, `SELECT count(*)::int FROM leases WHERE key LIKE $1`, `%`+c.tool+`%`); n != 0 {
				w.t.Errorf("%s: %d leases are left", c.id, n)
			}
		}
	})
	on("a terminated call", func(w *world) {
		first := invocation("held-first", "test__held", `{"text":"hello"}`)
		w.start(first)
		w.until(func() bool {
			return scalar[int](w, `SELECT count(*)::int FROM claims WHERE invocation_id = $1::uuid`, first.Identity().InvocationID()) == 1
		}, "it runs")
		second := w.start(invocation("held-second", "test__held", `{"text":"hello"}`))
		w.queued(second)
		w.terminate(first)
		w.until(func() bool {
			state, err := w.pawl.State(w.t.Context(), second.WorkflowID)
			return err == nil && state.Status == toolspec.StatusRunning
		}, "the second call has the place")
		if err := w.temporal.CancelWorkflow(w.t.Context(), second.WorkflowID, ""); err != nil {
			w.t.Fatal(err)
		}
		wantCode(w.t, w.result(second), toolspec.CodeCancelled)
		if d := w.record(first); d.Outcome != string(toolspec.CodeCancelled) {
			w.t.Errorf("the first ended with %s", d.Outcome)
		}
	})
	on("the stages of a call with limits", func(w *world) {
		inv := invocation("both", "test__both", `{"text":"hello"}`)
		wantText(w.t, w.invoke(inv), "hello")
		var stages []string
		for _, s := range w.record(inv).Stages {
			stages = append(stages, s.Stage)
		}
		if i := slices.Index(stages, "willAcquireQuota"); i < 0 || stages[i+1] != "willAcquireSemaphore" {
			w.t.Errorf("the stages are %v", stages)
		}
	})
}
