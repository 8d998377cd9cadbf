package authorization

import (
	"context"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// TestPolicyChange: a change of the policy reaches a waiting call without a message to the call.
func TestPolicyChange(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T) (w *e2etest.World, effects *e2etest.Ledger, result func() toolspec.Result, view toolspec.ApprovalView) {
		t.Helper()
		w, effects = e2etest.NewWorld(t, e2etest.PlainPolicy), &e2etest.Ledger{}
		w.Work(worker.Tools(e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
		call := w.Start(e2etest.Invocation("call", "test__write", `{"text":"hello"}`))
		return w, effects, func() toolspec.Result { return w.Result(call) }, w.Waiting(call.WorkflowID)
	}
	const id = "tool:acme:run:call"
	t.Run("denies", func(t *testing.T) {
		t.Parallel()
		w, effects, result, _ := waiting(t)
		w.Apply(e2etest.PlainPolicyWith(t, `["core__*", "test__*"]`, `["core__*"]`))
		r := result()
		e2etest.WantCode(t, r, toolspec.CodePolicyDenied)
		if effects.Of("call") != 0 || r.Details.Rule != "allowedTools" {
			t.Errorf("%d effects and the details %+v", effects.Of("call"), r.Details)
		}
		w.Replay(id)
	})
	t.Run("no longer asks", func(t *testing.T) {
		t.Parallel()
		w, effects, result, view := waiting(t)
		w.Apply(e2etest.PlainPolicyWith(t, "mode: auto", "mode: yolo"))
		e2etest.WantText(t, result(), "hello")
		if effects.Of("call") != 1 {
			t.Errorf("%d effects", effects.Of("call"))
		}
		if a := w.Record(e2etest.Invocation("call", "", "")).Approvals; len(a) != 1 || a[0].ApprovalID != view.ApprovalID ||
			a[0].State != "closed" {
			t.Errorf("approvals %+v, want %s closed", a, view.ApprovalID)
		}
		w.Replay(id)
	})
	t.Run("other approvers", func(t *testing.T) {
		t.Parallel()
		w, effects, result, view := waiting(t)
		w.Apply(e2etest.PlainPolicyWith(t, "allowUnsigned: true", `allowUnsigned: true, approvers: ["user:ben"]`))
		// If the recheck came later, it could discard the last workflow task of the call, and with it the answer to the approval.
		w.Until(func() bool {
			return e2etest.CountEvents(w.History(id, ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) > 0
		}, "the call hears of it")
		w.Approve(id)
		r := result()
		e2etest.WantCode(t, r, toolspec.CodeApprovalStale)
		if effects.Of("call") != 0 || r.Details.ApprovalID != view.ApprovalID {
			t.Errorf("%d effects and the details %+v", effects.Of("call"), r.Details)
		}
	})
	t.Run("something else", func(t *testing.T) {
		t.Parallel()
		w, effects, result, view := waiting(t)
		rules := e2etest.PlainPolicyWith(t, "  globex:", "  initech: {allowedTools: []}\n  globex:")
		w.Apply(rules)
		if again := w.Approve(id); again.ApprovalID != view.ApprovalID {
			t.Errorf("the call waits for %s now, want %s", again.ApprovalID, view.ApprovalID)
		}
		e2etest.WantText(t, result(), "hello")
		p, err := policy.Parse("policy.yaml", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		if record := w.Record(e2etest.Invocation("call", "", "")); effects.Of("call") != 1 || record.PolicyDigest != p.Digest() {
			t.Errorf("%d effects under policy %s, want the new one, %s", effects.Of("call"), record.PolicyDigest, p.Digest())
		}
	})
}

// TestPolicyChangesBeforeTheRequest: a call notices a change of the policy between its judgement and its request, when it gets no recheck.
func TestPolicyChangesBeforeTheRequest(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	strict, err := policy.Parse("policy.yaml", []byte(e2etest.PlainPolicyWith(t, `["core__*", "test__*"]`, `["core__*"]`)))
	if err != nil {
		t.Fatal(err)
	}
	w.Work(worker.Tools(e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)),
		worker.Hooks(hook.New("change", hook.WillParseInput.Do(func(ctx context.Context, _ *hook.Input) error {
			_, err := w.Store.ApplyPolicy(ctx, strict, "e2etest")
			return err
		}))))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("call", "test__write", `{"text":"hello"}`)), toolspec.CodePolicyDenied)
	if effects.Of("call") != 0 {
		t.Error("the tool ran all the same")
	}
}

// TestPolicyChangeAfterNonsense: after a signal that cannot be decoded as a decision, a change of the policy still reaches the call.
func TestPolicyChangeAfterNonsense(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__write", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	call := w.Start(e2etest.Invocation("call", "test__write", `{"text":"hello"}`))
	w.Waiting(call.WorkflowID)
	for _, payload := range []any{"approve", 7} {
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, payload); err != nil {
			t.Fatal(err)
		}
	}
	w.Apply(e2etest.PlainPolicyWith(t, `["core__*", "test__*"]`, `["core__*"]`))
	e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
}
