package takeovers

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

const fencedPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    limits: [{tool: "test__*", concurrent: 1, then: wait}]
`

// TestExpiredHolder: the place of a call expires before its tool runs, and another call takes it. The first call does not run at the same time, but enters the
// queue again.
func TestExpiredHolder(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, fencedPolicy)
	h := e2etest.NewHung()
	var goOn atomic.Bool
	w.Work(worker.Tools(e2etest.Tool("test__hold", h.Run, e2etest.Once, e2etest.Within(2*time.Minute))),
		worker.Hooks(hook.New("stuck", hook.WillInjectSecrets.Do(func(_ context.Context, v *hook.Check) error {
			if v.ToolCallID() == "first" && !goOn.Load() {
				return errs.Transient(errors.New("not yet"))
			}
			return nil
		}))))
	first := w.Start(e2etest.Invocation("first", "test__hold", `{"text":"hello"}`))
	held := func(invocationID string) bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases WHERE invocation_id = $1::uuid AND state = 'held'`, invocationID) == 1
	}
	w.Until(func() bool { return held(first.InvocationID) }, "the first holds the place")
	e2etest.Query[string](w, `UPDATE leases SET expires_at = now() WHERE invocation_id = $1::uuid RETURNING key`, first.InvocationID)
	second := w.Start(e2etest.Invocation("second", "test__hold", `{"text":"hello"}`))
	if id := e2etest.Receive(t, h.Entered); id != "second" {
		t.Fatalf("the tool runs for %s", id)
	}
	goOn.Store(true)
	w.Queued(first)
	if inside, _ := h.Counts(); inside != 1 {
		t.Error("both are inside")
	}
	close(h.Release)
	e2etest.WantText(t, w.Result(second), "hello")
	r := w.Result(first)
	e2etest.WantText(t, r, "hello")
	if _, highest := h.Counts(); r.Attempts != 1 || highest != 1 {
		t.Errorf("%d attempts, and %d were inside at once", r.Attempts, highest)
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM claims WHERE invocation_id = $1::uuid`, first.InvocationID); n != 1 {
		t.Errorf("%d claims of the first", n)
	}
}
