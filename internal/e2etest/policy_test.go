package e2etest

import (
	"context"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// changed is the plain policy with one thing replaced.
func changed(t *testing.T, old, by string) string {
	t.Helper()
	if !strings.Contains(plainPolicy, old) {
		t.Fatalf("the policy has no %q", old)
	}
	return strings.Replace(plainPolicy, old, by, 1)
}

// TestPolicyChange: a policy that changes while a call waits reaches the call by itself.
func TestPolicyChange(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T) (w *world, effects *ledger, result func() toolspec.Result, view toolspec.ApprovalView) {
		t.Helper()
		w, effects = newWorld(t, plainPolicy), &ledger{}
		w.work(worker.Tools(tool("test__write", effects.counted(echo), once, risky)))
		call := w.start(invocation("call", "test__write", `{"text":"hello"}`))
		return w, effects, func() toolspec.Result { return w.result(call) }, w.waiting(call.WorkflowID)
	}
	const id = "tool:acme:run:call"
	t.Run("denies", func(t *testing.T) {
		t.Parallel()
		w, effects, result, _ := waiting(t)
		w.apply(changed(t, `["core__*", "test__*"]`, `["core__*"]`))
		r := result()
		wantCode(t, r, toolspec.CodePolicyDenied)
		if effects.of("call") != 0 || r.Details.Rule != "allowedTools" {
			t.Errorf("%d effects and the details %+v", effects.of("call"), r.Details)
		}
		w.replay(id)
	})
	t.Run("no longer asks", func(t *testing.T) {
		t.Parallel()
		w, effects, result, view := waiting(t)
		w.apply(changed(t, "mode: auto", "mode: yolo"))
		wantText(t, result(), "hello")
		if effects.of("call") != 1 {
			t.Errorf("%d effects", effects.of("call"))
		}
		if a := w.record(invocation("call", "", "")).Approvals; len(a) != 1 || a[0].ApprovalID != view.ApprovalID || a[0].State != "closed" {
			t.Errorf("approvals %+v, want %s closed", a, view.ApprovalID)
		}
		w.replay(id)
	})
	t.Run("other approvers", func(t *testing.T) {
		t.Parallel()
		w, effects, result, view := waiting(t)
		w.apply(changed(t, "allowUnsigned: true", `allowUnsigned: true, approvers: ["user:ben"]`))
		// The word of the change would otherwise throw the closing task away, and with it the answer to the approval.
		w.until(func() bool { return count(w.history(id, ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) > 0 }, "the call hears of it")
		w.approve(id)
		r := result()
		wantCode(t, r, toolspec.CodeApprovalStale)
		if effects.of("call") != 0 || r.Details.ApprovalID != view.ApprovalID {
			t.Errorf("%d effects and the details %+v", effects.of("call"), r.Details)
		}
	})
	t.Run("something else", func(t *testing.T) {
		t.Parallel()
		w, effects, result, view := waiting(t)
		rules := changed(t, "  globex:", "  initech: {allowedTools: []}\n  globex:")
		w.apply(rules)
		if again := w.approve(id); again.ApprovalID != view.ApprovalID {
			t.Errorf("the call waits for %s now, want %s", again.ApprovalID, view.ApprovalID)
		}
		wantText(t, result(), "hello")
		p, err := policy.Parse("policy.yaml", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		if record := w.record(invocation("call", "", "")); effects.of("call") != 1 || record.PolicyDigest != p.Digest() {
			t.Errorf("%d effects under policy %s, want the new one, %s", effects.of("call"), record.PolicyDigest, p.Digest())
		}
	})
}

// TestPolicyChangesBeforeTheRequest: between the judgement and the request, where nobody is told to look again.
func TestPolicyChangesBeforeTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	strict, err := policy.Parse("policy.yaml", []byte(changed(t, `["core__*", "test__*"]`, `["core__*"]`)))
	if err != nil {
		t.Fatal(err)
	}
	w.work(worker.Tools(tool("test__write", effects.counted(echo), once, risky)),
		worker.Hooks(hook.New("change", hook.WillParseInput.Do(func(ctx context.Context, _ *hook.Input) error {
			_, err := w.store.ApplyPolicy(ctx, strict, "e2etest")
			return err
		}))))
	wantCode(t, w.invoke(invocation("call", "test__write", `{"text":"hello"}`)), toolspec.CodePolicyDenied)
	if effects.of("call") != 0 {
		t.Error("the tool ran all the same")
	}
}

// TestPolicyChangeAfterNonsense: what does not decode as a decision must not keep a call from hearing that policy changed.
func TestPolicyChangeAfterNonsense(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__write", echo, once, risky)))
	call := w.start(invocation("call", "test__write", `{"text":"hello"}`))
	w.waiting(call.WorkflowID)
	for _, payload := range []any{"approve", 7} {
		if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, payload); err != nil {
			t.Fatal(err)
		}
	}
	w.apply(changed(t, `["core__*", "test__*"]`, `["core__*"]`))
	wantCode(t, w.result(call), toolspec.CodePolicyDenied)
}
