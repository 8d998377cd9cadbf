package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
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
	inv := e2etest.Invocation(id, toolID, `{"text":"hello"}`)
	inv.Context.TenantID, inv.Context.ActorID = tenantID, actorID
	if connectionID == "" {
		return inv
	}
	return e2etest.Over(inv, connectionID)
}

// TestLimits tests the quotas and semaphores of a policy with a real worker.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, limitedPolicy)
	w.SweepEvery = 2 * time.Second
	places, held := e2etest.NewHung(), e2etest.NewHung()
	var effects e2etest.Ledger
	stays := e2etest.Within(2 * time.Minute)
	stops := hook.New("stops", hook.WillInjectSecrets.Do(func(_ context.Context, v *hook.Check) error {
		if v.ToolCallID() == "stopped" {
			return v.Abort("stopped by a test")
		}
		return nil
	}))
	w.Work(worker.Hooks(stops), worker.Tools(
		e2etest.Tool("test__once", effects.Counted(e2etest.Echo), e2etest.Fast), e2etest.Tool("test__two", e2etest.Echo),
		e2etest.Tool("test__turns", e2etest.Echo, e2etest.Fast),
		e2etest.Tool("test__places", places.Run, stays), e2etest.Tool("test__brief", held.Run, stays),
		e2etest.Tool("test__busy", held.Run, stays), e2etest.Tool("test__held", held.Run, stays),
		e2etest.Tool("test__both", e2etest.Echo, e2etest.Fast),
	))
	on := func(name string, f func(w *e2etest.World)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			f(&w)
		})
	}
	on("tenants, actors and connections are apart", func(w *e2etest.World) {
		w.Account("acme", "c1", e2etest.Actor, "user:bob")
		w.Account("acme", "c2", e2etest.Actor)
		w.Account("globex", "c1", e2etest.Actor)
		for round := range 2 {
			for i, inv := range []toolspec.Invocation{
				limitedBy("a", "test__once", "acme", e2etest.Actor, "c1"), limitedBy("b", "test__once", "acme", e2etest.Actor, "c2"),
				limitedBy("c", "test__once", "acme", "user:bob", "c1"), limitedBy("d", "test__once", "globex", e2etest.Actor, "c1"),
				limitedBy("e", "test__once", "acme", e2etest.Actor, ""),
			} {
				inv.ToolCallID += fmt.Sprint(round)
				r := w.Invoke(inv)
				if round == 0 {
					e2etest.WantText(w.T, r, "hello")
					continue
				}
				e2etest.WantCode(w.T, r, toolspec.CodeRateLimited)
				if r.RetryAfterMs < 3_000_000 || r.RetryAfterMs > 3_600_000 || effects.Of(inv.ToolCallID) != 0 {
					w.T.Errorf("%d: %+v", i, r)
				}
			}
		}
	})
	on("what was not dispatched costs nothing", func(w *e2etest.World) {
		for range 3 {
			e2etest.WantCode(w.T, w.Invoke(e2etest.Invocation("stopped", "test__two", `{"text":"hello"}`)), toolspec.CodeAborted)
		}
		for i, code := range []toolspec.Code{"", "", toolspec.CodeRateLimited} {
			if r := w.Invoke(e2etest.Invocation(fmt.Sprint("two-", i), "test__two", `{"text":"hello"}`)); r.ErrorCode != code {
				w.T.Errorf("%d: %+v, want %q", i, r, code)
			}
		}
	})
	on("turns", func(w *e2etest.World) {
		began := time.Now()
		var calls []*pawl.Call
		for i := range 3 {
			calls = append(calls, w.Start(e2etest.Invocation(fmt.Sprint("turn-", i), "test__turns", `{"text":"hello"}`)))
		}
		for _, call := range calls {
			e2etest.WantText(w.T, w.Result(call), "hello")
		}
		if took := time.Since(began); took < 6*time.Second {
			w.T.Errorf("three calls took %s, and one may run every three seconds", took)
		}
	})
	on("places", func(w *e2etest.World) {
		var calls []*pawl.Call
		for i := range 6 {
			calls = append(calls, w.Start(e2etest.Invocation(fmt.Sprint("place-", i), "test__places", `{"text":"hello"}`)))
		}
		var inside []string
		for len(inside) < 2 {
			if id := e2etest.Receive(w.T, places.Entered); !slices.Contains(inside, id) {
				inside = append(inside, id)
			}
		}
		waiting := 0
		for _, call := range calls {
			if slices.Contains(inside, strings.TrimPrefix(call.WorkflowID, "tool:acme:"+e2etest.Invocation("", "", "").Context.RunID+":")) {
				continue
			}
			waiting++
			state := w.Queued(call)
			if !strings.Contains(state.Waiting, "2 calls run") || !strings.Contains(w.Details(call.WorkflowID), "Waiting for capacity") {
				w.T.Errorf("it waits for %q, and shows %s", state.Waiting, w.Details(call.WorkflowID))
			}
			w.Until(func() bool { return w.Attributes(call.WorkflowID)["PawlStatus"] == "waiting_capacity" }, "the search attribute says so")
			d, err := w.Store.Show(w.T.Context(), "acme", call.InvocationID)
			if err != nil || d.Status != toolspec.StatusWaitingCapacity || len(d.Capacity) != 1 || d.Capacity[0].State != "waiting" {
				w.T.Errorf("the record shows %s, %+v, %v", d.Status, d.Capacity, err)
			}
		}
		if waiting != 4 {
			w.T.Errorf("%d calls wait, want 4", waiting)
		}
		// A waiting call that is cancelled leaves the queue.
		for _, call := range calls {
			if state, err := w.Pawl.State(w.T.Context(), call.WorkflowID); err == nil && state.Status == toolspec.StatusWaitingCapacity {
				if err := w.Temporal.CancelWorkflow(w.T.Context(), call.WorkflowID, ""); err != nil {
					w.T.Fatal(err)
				}
				e2etest.WantCode(w.T, w.Result(call), toolspec.CodeCancelled)
				break
			}
		}
		close(places.Release)
		ok := 0
		for _, call := range calls {
			if r := w.Result(call); r.OK {
				ok++
			}
		}
		if _, highest := places.Counts(); highest != 2 || ok != 5 {
			w.T.Errorf("%d were inside at once, and %d calls have a value", highest, ok)
		}
		if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases WHERE key LIKE '%test\_\_places%'`); n != 0 {
			w.T.Errorf("%d leases are left", n)
		}
	})
	on("no place in time", func(w *e2etest.World) {
		for _, c := range []struct{ tool, id string }{{"test__brief", "brief"}, {"test__busy", "busy"}} {
			call := w.Start(e2etest.Invocation(c.id+"-first", c.tool, `{"text":"hello"}`))
			w.Until(func() bool {
				return e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases WHERE key LIKE $1`, `%`+c.tool+`%`) == 1
			}, c.id+" is held")
			second := e2etest.Invocation(c.id+"-second", c.tool, `{"text":"hello"}`)
			r := w.Invoke(second)
			e2etest.WantCode(w.T, r, toolspec.CodeCapacity)
			waits := e2etest.CountEvents(w.History(second.Identity().WorkflowID(), ""), enumspb.EVENT_TYPE_TIMER_STARTED)
			took := time.Duration(r.EndedAtMs-r.StartedAtMs) * time.Millisecond
			if brief := c.id == "brief"; r.RetryAfterMs != 1000 || (waits > 0) != brief || brief && took < 5*time.Second {
				w.T.Errorf("%s: %+v after %s and %d waits", c.id, r, took, waits)
			}
			if err := w.Temporal.CancelWorkflow(w.T.Context(), call.WorkflowID, ""); err != nil {
				w.T.Fatal(err)
			}
			e2etest.WantCode(w.T, w.Result(call), toolspec.CodeCancelled)
			if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases WHERE key LIKE $1`, `%`+c.tool+`%`); n != 0 {
				w.T.Errorf("%s: %d leases are left", c.id, n)
			}
		}
	})
	on("a terminated call", func(w *e2etest.World) {
		first := e2etest.Invocation("held-first", "test__held", `{"text":"hello"}`)
		w.Start(first)
		w.Until(func() bool {
			return e2etest.Scalar[int](w, `SELECT count(*)::int FROM claims WHERE invocation_id = $1::uuid`,
				first.Identity().InvocationID()) == 1
		}, "it runs")
		second := w.Start(e2etest.Invocation("held-second", "test__held", `{"text":"hello"}`))
		w.Queued(second)
		w.Terminate(first)
		w.Until(func() bool {
			state, err := w.Pawl.State(w.T.Context(), second.WorkflowID)
			return err == nil && state.Status == toolspec.StatusRunning
		}, "the second call has the place")
		if err := w.Temporal.CancelWorkflow(w.T.Context(), second.WorkflowID, ""); err != nil {
			w.T.Fatal(err)
		}
		e2etest.WantCode(w.T, w.Result(second), toolspec.CodeCancelled)
		if d := w.Record(first); d.Outcome != string(toolspec.CodeCancelled) {
			w.T.Errorf("the first ended with %s", d.Outcome)
		}
	})
	on("the stages of a call with limits", func(w *e2etest.World) {
		inv := e2etest.Invocation("both", "test__both", `{"text":"hello"}`)
		e2etest.WantText(w.T, w.Invoke(inv), "hello")
		var stages []string
		for _, s := range w.Record(inv).Stages {
			stages = append(stages, s.Stage)
		}
		if i := slices.Index(stages, "willAcquireQuota"); i < 0 || stages[i+1] != "willAcquireSemaphore" {
			w.T.Errorf("the stages are %v", stages)
		}
	})
}
