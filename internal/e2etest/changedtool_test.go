package e2etest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

func version(v string) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.Version = v }
}

func masks(paths ...string) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.Redaction.MaskInput = paths }
}

// TestToolChangesUnderACall: one worker has an attempt of the old tool, and the next one only the new tool. What may have had an effect
// is not repeated, what did nothing goes on, and what was approved is stale.
func TestToolChangesUnderACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	const canary = "canary-6f1d"
	var before, after ledger
	entered := make(chan struct{}, 8)
	hangs := func(ctx context.Context, _ in, call toolspec.Call) (out, error) {
		before.add(call)
		entered <- struct{}{}
		<-ctx.Done()
		return out{}, ctx.Err()
	}
	fails := func(err error) run {
		return func(_ context.Context, _ in, call toolspec.Call) (out, error) {
			if before.add(call) == 1 {
				entered <- struct{}{}
			}
			return out{}, err
		}
	}
	plain, busy := errors.New("broken"), toolspec.RetryAfter(10*time.Second, "busy")
	stop := w.work(worker.Tools(
		tool("test__lapses", hangs, idempotent, version("1")),
		tool("test__failed", fails(plain), idempotent, version("1"), attempts(8)),
		tool("test__busy", fails(busy), idempotent, version("1"), attempts(8)),
		tool("test__stays", hangs, idempotent, version("1")),
		tool("test__worse", hangs, version("1")),
		tool("test__masked", fails(busy), version("1"), attempts(8)),
		tool("test__asked", echo, once, risky, version("1")),
	))
	ids := []string{"test__lapses", "test__failed", "test__busy", "test__stays", "test__worse", "test__masked"}
	for _, id := range ids {
		w.start(invocation(id, id, `{"text":"hello","note":"`+canary+`"}`))
	}
	asked := w.start(invocation("test__asked", "test__asked", `{"text":"hello"}`))
	view := w.waiting(asked.WorkflowID)
	for range ids {
		receive(t, entered)
	}
	stop()
	runs := after.counted(echo)
	w.work(worker.Tools(
		tool("test__lapses", runs, func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, version("2")),
		tool("test__failed", runs, func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, version("2")),
		tool("test__busy", runs, func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, version("2")),
		tool("test__stays", runs, idempotent, version("2")),
		tool("test__worse", runs, once, version("2")),
		tool("test__masked", runs, version("2"), masks("/note")),
		tool("test__asked", runs, once, risky, version("2")),
	))
	if answer := w.decide(asked.WorkflowID, approval(view.ApprovalID, ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	for id, want := range map[string]struct {
		code toolspec.Code
		runs int
	}{
		"test__lapses": {toolspec.CodeOutcomeUnknown, 0}, "test__failed": {toolspec.CodeExecution, 0}, "test__busy": {"", 1},
		"test__stays": {"", 1}, "test__worse": {toolspec.CodeOutcomeUnknown, 0}, "test__masked": {"", 1}, "test__asked": {toolspec.CodeApprovalStale, 0},
	} {
		r := w.ended(w.temporal.GetWorkflow(t.Context(), invocation(id, id, "").Identity().WorkflowID(), ""))
		if r.ErrorCode != want.code || r.OK != (want.code == "") || after.of(id) != want.runs {
			t.Errorf("%s ended with %q %+v after %d runs of the new tool, want %q after %d", id, r.ErrorCode, r.Details, after.of(id), want.code, want.runs)
		}
		if want.code == toolspec.CodeOutcomeUnknown && r.Details.Cause != string(workflows.CauseLost) {
			t.Errorf("%s: cause %q", id, r.Details.Cause)
		}
	}
	if got := string(w.record(invocation("test__masked", "", "")).SafeArgs); got != `{"note":"***","text":"hello"}` {
		t.Errorf("the record shows %s", got)
	}
	if row := scalar[string](w, `SELECT i::text FROM invocations i WHERE tool_call_id = 'test__masked'`); strings.Contains(row, canary) {
		t.Errorf("what the new tool masks is in the record: %s", row)
	}
}
