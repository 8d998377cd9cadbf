package approvals

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestToolChangesUnderACall: one worker runs an attempt of the old version of a tool, and the next worker has only the new version. An attempt that may have
// had an effect is not repeated, a call without an effect goes on, and an approval of the old version is stale.
func TestToolChangesUnderACall(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	const canary = "canary-6f1d"
	var before, after e2etest.Ledger
	entered := make(chan struct{}, 8)
	hangs := func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		before.Add(call)
		entered <- struct{}{}
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}
	fails := func(err error) e2etest.Run {
		return func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if before.Add(call) == 1 {
				entered <- struct{}{}
			}
			return e2etest.Out{}, err
		}
	}
	plain, busy := errors.New("broken"), toolspec.RetryAfter(10*time.Second, "busy")
	stop := w.Work(worker.Tools(
		e2etest.Tool("test__lapses", hangs, e2etest.Idempotent, e2etest.Version("1")),
		e2etest.Tool("test__failed", fails(plain), e2etest.Idempotent, e2etest.Version("1"), e2etest.Attempts(8)),
		e2etest.Tool("test__busy", fails(busy), e2etest.Idempotent, e2etest.Version("1"), e2etest.Attempts(8)),
		e2etest.Tool("test__stays", hangs, e2etest.Idempotent, e2etest.Version("1")),
		e2etest.Tool("test__worse", hangs, e2etest.Version("1")),
		e2etest.Tool("test__masked", fails(busy), e2etest.Version("1"), e2etest.Attempts(8)),
		e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky, e2etest.Version("1")),
	))
	ids := []string{"test__lapses", "test__failed", "test__busy", "test__stays", "test__worse", "test__masked"}
	for _, id := range ids {
		w.Start(e2etest.Invocation(id, id, `{"text":"hello","note":"`+canary+`"}`))
	}
	asked := w.Start(e2etest.Invocation("test__asked", "test__asked", `{"text":"hello"}`))
	view := w.Waiting(asked.WorkflowID)
	for range ids {
		e2etest.Receive(t, entered)
	}
	stop()
	runs := after.Counted(e2etest.Echo)
	w.Work(worker.Tools(
		e2etest.Tool("test__lapses", runs, func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, e2etest.Version("2")),
		e2etest.Tool("test__failed", runs, func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, e2etest.Version("2")),
		e2etest.Tool("test__busy", runs, func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, e2etest.Version("2")),
		e2etest.Tool("test__stays", runs, e2etest.Idempotent, e2etest.Version("2")),
		e2etest.Tool("test__worse", runs, e2etest.Once, e2etest.Version("2")),
		e2etest.Tool("test__masked", runs, e2etest.Version("2"), e2etest.Masks("/note")),
		e2etest.Tool("test__asked", runs, e2etest.Once, e2etest.Risky, e2etest.Version("2")),
	))
	if answer := w.Decide(asked.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	for id, want := range map[string]struct {
		code toolspec.Code
		runs int
	}{
		"test__lapses": {toolspec.CodeOutcomeUnknown, 0}, "test__failed": {toolspec.CodeExecution, 0}, "test__busy": {"", 1},
		"test__stays": {"", 1}, "test__worse": {toolspec.CodeOutcomeUnknown, 0}, "test__masked": {"", 1},
		"test__asked": {toolspec.CodeApprovalStale, 0},
	} {
		r := w.Ended(w.Temporal.GetWorkflow(t.Context(), e2etest.Invocation(id, id, "").Identity().WorkflowID(), ""))
		if r.ErrorCode != want.code || r.OK != (want.code == "") || after.Of(id) != want.runs {
			t.Errorf("%s ended with %q %+v after %d runs of the new tool, want %q after %d", id, r.ErrorCode, r.Details, after.Of(id), want.code,
				want.runs)
		}
		if want.code == toolspec.CodeOutcomeUnknown && r.Details.Cause != string(contract.CauseLost) {
			t.Errorf("%s: cause %q", id, r.Details.Cause)
		}
	}
	if got := string(w.Record(e2etest.Invocation("test__masked", "", "")).SafeArgs); got != `{"note":"***","text":"hello"}` {
		t.Errorf("the record shows %s", got)
	}
	if row := e2etest.Scalar[string](w, `SELECT i::text FROM invocations i WHERE tool_call_id = 'test__masked'`); strings.Contains(row, canary) {
		t.Errorf("what the new tool masks is in the record: %s", row)
	}
}
