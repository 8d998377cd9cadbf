package pools

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// TestGateMoves: a call can be judged only in a pool if its plan has a hook of the pool and a rule depends on the tags of its tool. It is judged in the pool
// that has the tool, after an approval and while it waits for one.
func TestGateMoves(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicyWith(t, "    mode: auto\n", "    mode: auto\n    rules: [{tool: 'test__*', when: '\"danger\" in tool.tags', decision: deny}]\n"))
	var effects e2etest.Ledger
	var guarded atomic.Int64
	send := worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	guard := worker.Hooks(hook.New("guard", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { guarded.Add(1); return nil })))
	other := worker.Tools(e2etest.Tool("test__other", e2etest.Echo))
	w.Work()
	stop := inPoolWith(w, "a", send, guard)
	waits, approved := w.Start(e2etest.Invocation("waits", "test__send", `{"text":"waits"}`)), w.Start(e2etest.Invocation("approved", "test__send", `{"text":"approved"}`))
	w.Waiting(waits.WorkflowID)
	w.Waiting(approved.WorkflowID)
	stop()
	forget(w, "a")
	inPoolWith(w, "a", other) // the next release of the pool, without the tool and its hook
	if err := w.Pawl.Recheck(t.Context(), waits.WorkflowID); err != nil {
		t.Fatal(err)
	}
	before := guarded.Load()
	inPoolWith(w, "b", send, guard)
	w.Until(func() bool { return queues(w, waits.WorkflowID) == "pawl pawl-a pawl-b" }, "the call moves while it waits for its approval")
	for id, call := range map[string]string{"waits": waits.WorkflowID, "approved": approved.WorkflowID} {
		w.Approve(call)
		w.Until(func() bool { return queues(w, call) == "pawl pawl-a pawl-b" }, "the call "+id+" is in the pool that has its tool")
	}
	e2etest.WantText(t, w.Result(waits), "waits")
	e2etest.WantText(t, w.Result(approved), "approved")
	if guarded.Load() < before+2 || effects.Of("waits") != 1 || effects.Of("approved") != 1 {
		t.Errorf("the hook of the new pool ran %d times; %v", guarded.Load()-before, effects.Counts)
	}
	w.WantSound(waits.WorkflowID)
	w.Replay(waits.WorkflowID)
	w.Replay(approved.WorkflowID)
	// A call that policy denies still does not run.
	inPoolWith(w, "c", worker.Tools(e2etest.Tool("test__danger", effects.Counted(e2etest.Echo), func(d *toolspec.Definition) { d.Tags = []string{"danger"} })))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("denied", "test__danger", `{"text":"no"}`)), toolspec.CodePolicyDenied)
}
