package e2etest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

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

// TestExpiredHolder: a call whose place expired before its tool ran, and was taken by another, does not run beside it. It queues again.
func TestExpiredHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fencedPolicy)
	h := newHung()
	var goOn atomic.Bool
	w.work(worker.Tools(tool("test__hold", h.run, once, within(2*time.Minute))), worker.Hooks(hook.New("stuck", hook.WillInjectSecrets.Do(func(_ context.Context, v *hook.Check) error {
		if v.ToolCallID() == "first" && !goOn.Load() {
			return hook.Transient(errors.New("not yet"))
		}
		return nil
	}))))
	first := w.start(invocation("first", "test__hold", `{"text":"hello"}`))
	held := func(invocationID string) bool {
		return scalar[int](w, `SELECT count(*)::int FROM leases WHERE invocation_id = $1::uuid AND state = 'held'`, invocationID) == 1
	}
	w.until(func() bool { return held(first.InvocationID) }, "the first holds the place")
	query[string](w, `UPDATE leases SET expires_at = now() WHERE invocation_id = $1::uuid RETURNING key`, first.InvocationID)
	second := w.start(invocation("second", "test__hold", `{"text":"hello"}`))
	if id := receive(t, h.entered); id != "second" {
		t.Fatalf("the tool runs for %s", id)
	}
	goOn.Store(true)
	w.queued(first)
	if inside, _ := h.counts(); inside != 1 {
		t.Error("both are inside")
	}
	close(h.release)
	wantText(t, w.result(second), "hello")
	r := w.result(first)
	wantText(t, r, "hello")
	if _, highest := h.counts(); r.Attempts != 1 || highest != 1 {
		t.Errorf("%d attempts, and %d were inside at once", r.Attempts, highest)
	}
	if n := scalar[int](w, `SELECT count(*)::int FROM claims WHERE invocation_id = $1::uuid`, first.InvocationID); n != 1 {
		t.Errorf("%d claims of the first", n)
	}
}
