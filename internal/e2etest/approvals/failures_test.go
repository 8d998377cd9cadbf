package approvals

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// The failure: one item of a batch is refused, and because of that the other items are never decided.
func TestARejectedItemThatDiscardsItsBatch(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	names := []string{"one", "two", "three", "four"}
	batch, calls := make([]pawl.Addressed, len(names)), make([]*pawl.Call, len(names))
	for i, name := range names {
		calls[i] = w.Start(e2etest.Invocation(name, "test__send", `{"text":"hello"}`))
		view := w.Waiting(calls[i].WorkflowID)
		batch[i] = pawl.Addressed{WorkflowID: calls[i].WorkflowID, Decision: e2etest.Approving(view.ApprovalID, e2etest.Ann)}
	}
	batch[0].Decision.Approver = e2etest.Actor                                        // the requester
	batch[1].Decision.ApprovalID = toolspec.ApprovalID(calls[3].InvocationID, 1)      // the id of another call
	batch[2].Decision.Digest, batch[3].Decision.Reason = strings.Repeat("0", 64), "x" // a wrong digest, and a valid decision
	verdicts := w.Pawl.DecideEach(t.Context(), batch...)
	for i, counts := range []bool{false, false, false, true} {
		if v := verdicts[i]; v.Answer.Counted != counts || v.ApprovalID != batch[i].Decision.ApprovalID || !counts && v.Err == nil &&
			v.Answer.Reason == "" {
			t.Errorf("%s: %+v", names[i], v)
		}
	}
	e2etest.WantText(t, w.Result(calls[3]), "hello")
	for i := range names[:3] {
		if effects.Of(names[i]) != 0 {
			t.Errorf("%s ran", names[i])
		}
		w.Approve(calls[i].WorkflowID) // the call still waits
		e2etest.WantText(t, w.Result(calls[i]), "hello")
	}
}

// The failure: a call runs because a person approves it, although policy forbids it by then or its actor has lost the right to run the tool.
func TestPolicyOrGrantChangedWhileACallWaits(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.RelationsPolicy)
	var effects e2etest.Ledger
	options := worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__mail", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	stop := w.Work(options)
	sends := authz.Relation{Kind: authz.Executes, Subject: e2etest.Actor, Tools: "test__send"}
	w.Relate("acme", sends)
	w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: e2etest.Actor, Tools: "test__mail"})
	revoked, forbidden := w.Start(e2etest.Invocation("revoked", "test__send", `{"text":"x"}`)),
		w.Start(e2etest.Invocation("forbidden", "test__mail", `{"text":"x"}`))
	views := []toolspec.ApprovalView{w.Waiting(revoked.WorkflowID), w.Waiting(forbidden.WorkflowID)}
	// No worker runs while the rights are removed and the approvals come.
	stop()
	w.Revoke("acme", sends)
	w.Apply(strings.Replace(e2etest.RelationsPolicy, `["core__*", "test__*"]`, `["core__*", "test__send"]`, 1))
	for i, call := range []*pawl.Call{revoked, forbidden} {
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
			e2etest.Approving(views[i].ApprovalID, e2etest.Ann)); err != nil {
			t.Fatal(err)
		}
	}
	w.Work(options)
	e2etest.WantCode(t, w.Result(revoked), toolspec.CodeAuthzDenied)
	e2etest.WantCode(t, w.Result(forbidden), toolspec.CodePolicyDenied)
	if effects.Of("revoked")+effects.Of("forbidden") != 0 {
		t.Error("a tool ran")
	}
}

// The failure: a signed approval is sent again for another call, in another tenant, or after the arguments have changed, and counts.
func TestAnApprovalReplayedByAnotherCallTenantOrArgument(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.Replace(signedPolicy, "quorum: 2, ", "", 1))
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	people := enroll(w, e2etest.Ann, e2etest.Ben)
	inv := e2etest.Invocation("call", "test__send", `{"text":"hello"}`)
	foreign := inv
	foreign.Context.TenantID = "globex"
	call, same, other := w.Start(inv), w.Start(e2etest.Invocation("same", "test__send", `{"text":"hello"}`)), w.Start(foreign)
	view := w.Waiting(call.WorkflowID)
	good := people.approval(t, view, e2etest.Ann)
	for name, to := range map[string]*pawl.Call{"another call": same, "another tenant": other} {
		there := w.Waiting(to.WorkflowID)
		for _, d := range []toolspec.Decision{good, readdressed(good, there, false), readdressed(good, there, true)} {
			if err := w.Temporal.SignalWorkflow(t.Context(), to.WorkflowID, "", toolspec.DecideName, d); err != nil {
				t.Fatal(err)
			}
		}
		if answer := w.Decide(to.WorkflowID, readdressed(good, there, true)); answer.Counted {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	edit := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Digest: view.Digest, Approver: e2etest.Ben,
		EditedArgs: json.RawMessage(`{"text":"more"}`)}
	if answer := w.Decide(call.WorkflowID, signedWith(t, people.keys[e2etest.Ben], "acme", time.Now(), edit)); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	edited := w.Waiting(call.WorkflowID, view.ApprovalID)
	for _, d := range []toolspec.Decision{good, readdressed(good, edited, false), readdressed(good, edited, true)} {
		if answer := w.Decide(call.WorkflowID, d); answer.Counted {
			t.Errorf("other arguments: %+v", answer)
		}
	}
	if n := effects.Of("call") + effects.Of("same"); n != 0 {
		t.Errorf("%d effects", n)
	}
	if answer := w.Decide(call.WorkflowID, people.approval(t, edited, e2etest.Ann)); !answer.Counted {
		t.Errorf("of the arguments as they are: %+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "more")
	end(w, same)
	end(w, other)
}

// readdressed returns a decision for another request, with the digest of that request or with the old one.
func readdressed(d toolspec.Decision, to toolspec.ApprovalView, digest bool) toolspec.Decision {
	d.ApprovalID = to.ApprovalID
	if digest {
		d.Digest = to.Digest
	}
	return d
}

// The failure: a person lets an agent ask for an approval, and gives the approval too.
func TestAnApproverWhoIsTheRequesterThroughDelegation(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	key, _ := w.Submitter()
	w.Relate("acme", authz.Relation{Kind: authz.Delegates, Subject: e2etest.Actor, Object: e2etest.Sue, Tools: "*"})
	call := w.Start(w.OnBehalf("call", "test__send", key))
	view := w.Waiting(call.WorkflowID)
	for _, who := range []string{e2etest.Sue, e2etest.Actor} {
		if answer := w.Decide(call.WorkflowID, e2etest.Approving(view.ApprovalID, who)); answer.Counted ||
			!strings.Contains(answer.Reason, "requester") {
			t.Errorf("%s: %+v", who, answer)
		}
	}
	if effects.Of("call") != 0 {
		t.Error("the tool ran")
	}
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "hello")
}

// The failure: an approval is only in the memory of a worker, and is lost when the worker dies or is replaced by a release with other hooks.
func TestAnApprovalLostOverAWorkerRestartAndOverADeployThatChangesHooks(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.Replace(e2etest.PlainPolicy, "allowUnsigned: true}", "allowUnsigned: true, quorum: 3}", 1))
	var effects e2etest.Ledger
	looks := func(name string) worker.Option {
		return worker.Hooks(hook.New(name, hook.OnMetrics.Do(func(context.Context, *hook.Report) error { return nil })))
	}
	guard := worker.Hooks(hook.New("guard", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { return nil })))
	tools := worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky))
	stop := w.Work(tools, looks("before"))
	call := w.Start(e2etest.Invocation("call", "test__send", `{"text":"hello"}`))
	view := w.Waiting(call.WorkflowID)
	if answer := w.Decide(call.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Fatalf("the first: %+v", answer)
	}
	stop()
	// No worker runs when the second approval comes. The next worker has one more hook that must run, and lacks a hook whose absence is only logged.
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
		e2etest.Approving(view.ApprovalID, e2etest.Ben)); err != nil {
		t.Fatal(err)
	}
	stop = w.Work(tools, guard, looks("after"))
	if again := w.Waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
		t.Errorf("it waits for %s, not %s", again.ApprovalID, view.ApprovalID)
	}
	for _, who := range []string{e2etest.Ann, e2etest.Ben} {
		if answer := w.Decide(call.WorkflowID, withReason(e2etest.Approving(view.ApprovalID, who), "again")); answer.Counted ||
			!strings.Contains(answer.Reason, "approved already") {
			t.Errorf("%s once more: %+v", who, answer)
		}
	}
	stop()
	w.Work(tools)
	if answer := w.Decide(call.WorkflowID, e2etest.Approving(view.ApprovalID, "user:cid")); !answer.Counted {
		t.Errorf("the third: %+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("call"); n != 1 {
		t.Errorf("%d effects", n)
	}
}

func withReason(d toolspec.Decision, reason string) toolspec.Decision {
	d.Reason = reason
	return d
}
