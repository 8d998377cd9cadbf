package e2etest

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const shapesOfLimits = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    limits:
      - {tool: test__place, quota: {tokens: 100, every: 1h}}
      - {tool: test__place, concurrent: 1, then: wait}
      - {tool: test__brief, concurrent: 1, then: wait, waitFor: 5s}
      - {tool: test__token, quota: {tokens: 1, every: 1h}}
`

// limits records calls that wait for capacity, with success and in vain, and that get none.
func (r *recorder) limits(t *testing.T) {
	w := newWorld(t, shapesOfLimits)
	h := newHung()
	stays := within(2 * time.Minute)
	w.work(worker.Tools(tool("test__place", h.run, stays), tool("test__brief", h.run, stays), tool("test__token", echo, fast)))

	wantText(t, w.invoke(invocation("token", "test__token", `{"text":"hello"}`)), "hello")
	inv := invocation("quota_used_up", "test__token", `{"text":"hello"}`)
	wantCode(t, w.invoke(inv), toolspec.CodeRateLimited)
	r.ended(w, "quota_used_up", inv)

	brief := w.start(invocation("brief", "test__brief", `{"text":"hello"}`))
	receive(t, h.entered)
	inv = invocation("capacity_over", "test__brief", `{"text":"hello"}`)
	wantCode(t, w.invoke(inv), toolspec.CodeCapacity)
	r.ended(w, "capacity_over", inv)

	first := w.start(invocation("place", "test__place", `{"text":"hello"}`))
	receive(t, h.entered)
	inv = invocation("capacity_given", "test__place", `{"text":"hello"}`)
	given := w.start(inv)
	w.queued(given)
	open := invocation("waiting_capacity", "test__place", `{"text":"hello"}`)
	w.queued(w.start(open))
	r.waits(w, "waiting_capacity", "timer", open)
	close(h.release)
	wantText(t, w.result(brief), "hello")
	wantText(t, w.result(first), "hello")
	wantText(t, w.result(given), "hello")
	r.ended(w, "capacity_given", inv)
}
