package flows

import (
	"context"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/pawlflow"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestCall: a value, a failure and a refused input are results, and the workflow of the user completes. An input
// with a credential never reaches the history as a call.
func TestCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__large", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: strings.Repeat("x", 2*toolspec.MaxInline)}, nil
		}, e2etest.Idempotent),
		e2etest.Tool("test__fail", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{}, toolspec.Safef("no such thing")
		}),
	))
	e2etest.WantText(t, get[toolspec.Result](w, w.run(oneCall, e2etest.Invocation("send", "test__send", `{"text":"hello"}`))), "hello")
	for id, code := range map[string]toolspec.Code{"test__fail": toolspec.CodeExecution, "other__tool": toolspec.CodeUnavailable} {
		if got := get[toolspec.Result](w, w.run(oneCall, e2etest.Invocation(id, id, `{}`))); got.OK || got.InvocationID == "" || got.ErrorCode != code {
			t.Errorf("%s: %+v", id, got)
		}
	}
	// A call that a worker would refuse does not start.
	bad := e2etest.Invocation("bad", "test__send", `{"text":"hello"}`)
	bad.Context.RunID = "no run"
	run := w.run(oneCall, bad)
	got := get[toolspec.Result](w, run)
	e2etest.WantCode(t, got, toolspec.CodeValidation)
	if got.Details.Path != "/context/runId" || got.InvocationID != "" || got.ToolCallID != "bad" {
		t.Errorf("refused with %+v %+v", got, got.Details)
	}
	if n := e2etest.CountEvents(w.History(run.GetID(), run.GetRunID()), enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED); n != 0 {
		t.Errorf("%d calls started", n)
	}

	// The value of the call is decoded into a type.
	if got := get[typed](w, w.run(typedCall, e2etest.Invocation("typed", "test__send", `{"text":"hello"}`))); got.Out.Text != "hello" || !got.Result.OK || got.Err != "" {
		t.Errorf("typed: %+v", got)
	}
	if got := get[typed](w, w.run(typedCall, e2etest.Invocation("failed", "test__fail", `{}`))); got.Out.Text != "" || got.Result.ErrorCode != toolspec.CodeExecution || got.Err != "" {
		t.Errorf("typed, without a value: %+v", got)
	}
	large := get[typed](w, w.run(typedCall, e2etest.Invocation("large", "test__large", `{}`)))
	if large.Out.Text != "" || large.Result.OutputRef == "" || !strings.Contains(large.Err, pawlflow.ErrLarge.Error()) {
		t.Errorf("a large value: %q, %q, %s", large.Out.Text, large.Result.OutputRef, large.Err)
	}
}

// TestSameCall: a call that this workflow or another program has started already is not started again, and gives
// its result to both. Another input under its id is a conflict.
func TestSameCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	run := w.run(twice, inv)
	w.Waiting(inv.Identity().WorkflowID())
	other := w.run(oneCall, e2etest.Invocation("send", "test__send", `{"text":"other"}`))
	w.pending(other.GetID(), "joinCall")
	w.Approve(inv.Identity().WorkflowID())
	results := get[[]toolspec.Result](w, run)
	e2etest.WantText(t, results[0], "hello")
	if !e2etest.SameResult(results[0], results[1]) {
		t.Errorf("the same call has the results %+v and %+v", results[0], results[1])
	}
	e2etest.WantCode(t, get[toolspec.Result](w, other), toolspec.CodeConflict)
	if n := effects.Of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// pending waits until a workflow waits for an activity.
func (w world) pending(workflowID, activity string) {
	w.T.Helper()
	w.Until(func() bool {
		for _, a := range w.Describe(workflowID).GetPendingActivities() {
			if a.GetActivityType().GetName() == activity {
				return true
			}
		}
		return false
	}, workflowID+" waits for "+activity)
}
