package histories

import (
	"context"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
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
      - {tool: test__hourly, quota: {tokens: 1, every: 5m}, then: wait}
      - {tool: test__changed, concurrent: 1, then: wait}
    approvals: {enabled: true, allowUnsigned: true}
    rules: [{tool: test__changed, when: 'args.text == "changed"', decision: require_approval}]
`

// limits records calls that wait for capacity and get it, that wait and do not get it, and that are refused immediately.
func (r *recorder) limits(t *testing.T) {
	w := e2etest.NewWorld(t, shapesOfLimits)
	h := e2etest.NewHung()
	stays := e2etest.Within(2 * time.Minute)
	w.Work(worker.Tools(e2etest.Tool("test__place", h.Run, stays), e2etest.Tool("test__brief", h.Run, stays),
		e2etest.Tool("test__token", e2etest.Echo, e2etest.Fast), waitingTool("test__hourly", e2etest.Echo), e2etest.Tool("test__changed", e2etest.Echo, e2etest.Fast)),
		worker.ToolHooks("test__changed", hook.New("changes", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
			v.SetArgs(e2etest.In{Text: "changed"})
			return nil
		}))))

	e2etest.WantText(t, w.Invoke(e2etest.Invocation("token", "test__token", `{"text":"hello"}`)), "hello")
	inv := e2etest.Invocation("quota_used_up", "test__token", `{"text":"hello"}`)
	e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeRateLimited)
	r.ended(w, "quota_used_up", inv)
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("hourly", "test__hourly", `{"text":"hello"}`)), "hello")
	inv = e2etest.Invocation("waiting_quota", "test__hourly", `{"text":"hello"}`)
	w.Queued(w.Start(inv))
	r.waits(w, "waiting_quota", "timer", inv)

	// Each of two calls gets the one slot, because the call that waits for a person gives it back.
	inv = e2etest.Invocation("capacity_given_back", "test__changed", `{"text":"hello"}`)
	other := w.Start(e2etest.Invocation("other", "test__changed", `{"text":"hello"}`))
	for _, call := range []*pawl.Call{w.Start(inv), other} {
		w.Waiting(call.WorkflowID)
	}
	for _, call := range []*pawl.Call{w.Start(inv), other} {
		w.WantAnswer(call, e2etest.Approving(w.Waiting(call.WorkflowID).ApprovalID, e2etest.Ann), "")
		e2etest.WantText(t, w.Result(call), "changed")
	}
	r.ended(w, "capacity_given_back", inv)

	brief := w.Start(e2etest.Invocation("brief", "test__brief", `{"text":"hello"}`))
	e2etest.Receive(t, h.Entered)
	inv = e2etest.Invocation("capacity_over", "test__brief", `{"text":"hello"}`)
	e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeCapacity)
	r.ended(w, "capacity_over", inv)

	first := w.Start(e2etest.Invocation("place", "test__place", `{"text":"hello"}`))
	e2etest.Receive(t, h.Entered)
	inv = e2etest.Invocation("capacity_given", "test__place", `{"text":"hello"}`)
	given := w.Start(inv)
	w.Queued(given)
	open := e2etest.Invocation("waiting_capacity", "test__place", `{"text":"hello"}`)
	w.Queued(w.Start(open))
	r.waits(w, "waiting_capacity", "timer", open)
	close(h.Release)
	e2etest.WantText(t, w.Result(brief), "hello")
	e2etest.WantText(t, w.Result(first), "hello")
	e2etest.WantText(t, w.Result(given), "hello")
	r.ended(w, "capacity_given", inv)
}
