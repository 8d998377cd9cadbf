package takeovers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// runningOn returns a tool whose first run has its effect, reports it to happened, and then runs until its context ends. Later runs answer immediately.
func runningOn(effects *e2etest.Ledger, happened chan<- struct{}) e2etest.Run {
	return func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		if effects.Add(call) == 1 {
			happened <- struct{}{}
			<-ctx.Done()
			return e2etest.Out{}, ctx.Err()
		}
		return e2etest.Echo(ctx, in, call)
	}
}

// resetInExecute starts a call and approves it. While its tool runs, it resets the call to its last workflow task, which is the task of the decision. So the new
// run goes on with the results that the old run got from admit. It returns the id of the new run.
func resetInExecute(w *e2etest.World, inv toolspec.Invocation, happened <-chan struct{}, before func()) (runID string) {
	w.T.Helper()
	call := w.Start(inv)
	w.Approve(call.WorkflowID)
	e2etest.Receive(w.T, happened)
	before()
	first := w.Describe(call.WorkflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	w.MustCLI("workflow", "reset", "--workflow-id", call.WorkflowID, "--type", "LastWorkflowTask", "--reason", "a test")
	w.Until(func() bool {
		runID = w.Describe(call.WorkflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return runID != first
	}, "the reset run is the current one")
	return runID
}

// TestResetWhileClaimsStall: the new run has the same epoch and dispatch numbers as the old run. While its claims are blocked, it must not take the claim of the
// old run for its own.
func TestResetWhileClaimsStall(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	happened := make(chan struct{}, 1)
	w.Work(worker.Tools(e2etest.Tool("test__send", runningOn(&effects, happened), e2etest.Once, e2etest.Risky, e2etest.Within(2*time.Minute))))
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	var release func()
	runID := resetInExecute(w, inv, happened, func() { release = w.LockTable("claims") })
	w.Until(func() bool { return strings.Contains(w.Log.String(), "the claim has no answer") }, "a claim of the new run has no answer")
	release()
	result := w.ResultOf(inv.Identity().WorkflowID(), runID)
	if result.ErrorCode != toolspec.CodeOutcomeUnknown || result.Attempts != 1 || effects.Of("send") != 1 {
		t.Errorf("got %+v after %d effects, want an unknown outcome after one", result, effects.Of("send"))
	}
	if record := w.Record(inv); record.Result == nil || !e2etest.SameResult(*record.Result, result) {
		t.Errorf("the record has %+v", record.Result)
	}
}

// TestResetInExecute: after a reset in execute, a tool that may be repeated runs again. A call whose tool has run never ends as denied or cancelled.
func TestResetInExecute(t *testing.T) {
	t.Parallel()
	denying := strings.ReplaceAll(e2etest.PlainPolicy, `"test__*"`, `"none__*"`)
	for name, tc := range map[string]struct {
		options []func(*toolspec.Definition)
		policy  string
		cancel  bool
		code    toolspec.Code
		cause   string
		effects int
	}{
		"idempotent":         {[]func(*toolspec.Definition){e2etest.Idempotent}, "", false, "", "", 2},
		"not repeatable":     {[]func(*toolspec.Definition){e2etest.Once}, "", false, toolspec.CodeOutcomeUnknown, "lost", 1},
		"denied by then":     {[]func(*toolspec.Definition){e2etest.Once}, denying, false, toolspec.CodeOutcomeUnknown, "policy_denied", 1},
		"cancelled by then":  {[]func(*toolspec.Definition){e2etest.Once}, "", true, toolspec.CodeOutcomeUnknown, "cancelled", 1},
		"idempotent, denied": {[]func(*toolspec.Definition){e2etest.Idempotent}, denying, false, toolspec.CodePolicyDenied, "", 1},
		"idempotent, late end": {[]func(*toolspec.Definition){e2etest.Idempotent, func(d *toolspec.Definition) { d.MaxAttempts = 1 }}, "", false,
			"", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, e2etest.PlainPolicy)
			var effects e2etest.Ledger
			happened := make(chan struct{}, 1)
			tools := worker.Tools(e2etest.Tool("test__send", runningOn(&effects, happened),
				append(tc.options, e2etest.Risky, e2etest.Within(2*time.Minute))...))
			stop := w.Work(tools)
			inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
			runID := resetInExecute(w, inv, happened, func() {
				if tc.policy != "" {
					w.Apply(tc.policy)
				}
				if tc.cancel { // no worker may continue the new run before it is cancelled
					stop()
				}
			})
			if tc.cancel {
				if err := w.Temporal.CancelWorkflow(t.Context(), inv.Identity().WorkflowID(), runID); err != nil {
					t.Fatal(err)
				}
				w.Work(tools)
			}
			result := w.ResultOf(inv.Identity().WorkflowID(), runID)
			if result.ErrorCode != tc.code || effects.Of("send") != tc.effects || tc.cause != "" &&
				(result.Details == nil || result.Details.Cause != tc.cause) {
				t.Errorf("got %+v with %+v after %d effects", result, result.Details, effects.Of("send"))
			}
			if record := w.Record(inv); record.Result == nil || !e2etest.SameResult(*record.Result, result) {
				t.Errorf("the record has %+v", record.Result)
			}
		})
	}
}
