package e2etest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// The failures of others that calls must not have. Each test is named after what it prevents; those of policy alone stand in package policy.

// One item of a batch is refused, and the others are never decided.
func TestARejectedItemThatDiscardsItsBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	names := []string{"one", "two", "three", "four"}
	batch, calls := make([]pawl.Addressed, len(names)), make([]*pawl.Call, len(names))
	for i, name := range names {
		calls[i] = w.start(invocation(name, "test__send", `{"text":"hello"}`))
		view := w.waiting(calls[i].WorkflowID)
		batch[i] = pawl.Addressed{WorkflowID: calls[i].WorkflowID, Decision: approval(view.ApprovalID, ann)}
	}
	batch[0].Decision.Approver = actor                                                // who asked
	batch[1].Decision.ApprovalID = toolspec.ApprovalID(calls[3].InvocationID, 1)      // another call's
	batch[2].Decision.Digest, batch[3].Decision.Reason = strings.Repeat("0", 64), "x" // not what was seen; right
	verdicts := w.pawl.DecideEach(t.Context(), batch...)
	for i, counts := range []bool{false, false, false, true} {
		if v := verdicts[i]; v.Answer.Counted != counts || v.ApprovalID != batch[i].Decision.ApprovalID || !counts && v.Err == nil && v.Answer.Reason == "" {
			t.Errorf("%s: %+v", names[i], v)
		}
	}
	wantText(t, w.result(calls[3]), "hello")
	for i := range names[:3] {
		if effects.of(names[i]) != 0 {
			t.Errorf("%s ran", names[i])
		}
		w.approve(calls[i].WorkflowID) // it waits on
		wantText(t, w.result(calls[i]), "hello")
	}
}

// A person approves what policy forbids by then, or for whom the right was taken back.
func TestPolicyOrGrantChangedWhileACallWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relationsPolicy)
	var effects ledger
	options := worker.Tools(tool("test__send", effects.counted(echo), once, risky), tool("test__mail", effects.counted(echo), once, risky))
	stop := w.work(options)
	sends := authz.Relation{Kind: authz.Executes, Subject: actor, Tools: "test__send"}
	w.relate("acme", sends)
	w.relate("acme", authz.Relation{Kind: authz.Executes, Subject: actor, Tools: "test__mail"})
	revoked, forbidden := w.start(invocation("revoked", "test__send", `{"text":"x"}`)), w.start(invocation("forbidden", "test__mail", `{"text":"x"}`))
	views := []toolspec.ApprovalView{w.waiting(revoked.WorkflowID), w.waiting(forbidden.WorkflowID)}
	// Nobody works while the rights go and the approvals come.
	stop()
	w.revoke("acme", sends)
	w.apply(strings.Replace(relationsPolicy, `["core__*", "test__*"]`, `["core__*", "test__send"]`, 1))
	for i, call := range []*pawl.Call{revoked, forbidden} {
		if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(views[i].ApprovalID, ann)); err != nil {
			t.Fatal(err)
		}
	}
	w.work(options)
	wantCode(t, w.result(revoked), toolspec.CodeAuthzDenied)
	wantCode(t, w.result(forbidden), toolspec.CodePolicyDenied)
	if effects.of("revoked")+effects.of("forbidden") != 0 {
		t.Error("a tool ran")
	}
}

// What somebody signed once is sent again, for another call, in another tenant, or when the arguments are others.
func TestAnApprovalReplayedByAnotherCallTenantOrArgument(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(signedPolicy, "quorum: 2, ", "", 1))
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	people := enroll(w, ann, ben)
	inv := invocation("call", "test__send", `{"text":"hello"}`)
	foreign := inv
	foreign.Context.TenantID = "globex"
	call, same, other := w.start(inv), w.start(invocation("same", "test__send", `{"text":"hello"}`)), w.start(foreign)
	view := w.waiting(call.WorkflowID)
	good := people.approval(t, view, ann)
	for name, to := range map[string]*pawl.Call{"another call": same, "another tenant": other} {
		there := w.waiting(to.WorkflowID)
		for _, d := range []toolspec.Decision{good, readdressed(good, there, false), readdressed(good, there, true)} {
			if err := w.temporal.SignalWorkflow(t.Context(), to.WorkflowID, "", toolspec.DecideName, d); err != nil {
				t.Fatal(err)
			}
		}
		if answer := w.decide(to.WorkflowID, readdressed(good, there, true)); answer.Counted {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	edit := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Digest: view.Digest, Approver: ben, EditedArgs: json.RawMessage(`{"text":"more"}`)}
	if answer := w.decide(call.WorkflowID, signedWith(t, people.keys[ben], "acme", time.Now(), edit)); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	edited := w.waiting(call.WorkflowID, view.ApprovalID)
	for _, d := range []toolspec.Decision{good, readdressed(good, edited, false), readdressed(good, edited, true)} {
		if answer := w.decide(call.WorkflowID, d); answer.Counted {
			t.Errorf("other arguments: %+v", answer)
		}
	}
	if n := effects.of("call") + effects.of("same"); n != 0 {
		t.Errorf("%d effects", n)
	}
	if answer := w.decide(call.WorkflowID, people.approval(t, edited, ann)); !answer.Counted {
		t.Errorf("of the arguments as they are: %+v", answer)
	}
	wantText(t, w.result(call), "more")
	w.end(same)
	w.end(other)
}

// readdressed is a decision sent to another request, with its digest or the old one.
func readdressed(d toolspec.Decision, to toolspec.ApprovalView, digest bool) toolspec.Decision {
	d.ApprovalID = to.ApprovalID
	if digest {
		d.Digest = to.Digest
	}
	return d
}

// Somebody has an agent ask, and approves it.
func TestAnApproverWhoIsTheRequesterThroughDelegation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	key, _ := w.submitter()
	w.relate("acme", authz.Relation{Kind: authz.Delegates, Subject: actor, Object: sue, Tools: "*"})
	call := w.start(w.behalf("call", "test__send", key))
	view := w.waiting(call.WorkflowID)
	for _, who := range []string{sue, actor} {
		if answer := w.decide(call.WorkflowID, approval(view.ApprovalID, who)); answer.Counted || !strings.Contains(answer.Reason, "requester") {
			t.Errorf("%s: %+v", who, answer)
		}
	}
	if effects.of("call") != 0 {
		t.Error("the tool ran")
	}
	w.approve(call.WorkflowID)
	wantText(t, w.result(call), "hello")
}

// An approval is in the memory of a worker that dies, or of a release that is replaced by one with other hooks.
func TestAnApprovalLostOverAWorkerRestartAndOverADeployThatChangesHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plainPolicy, "allowUnsigned: true}", "allowUnsigned: true, quorum: 3}", 1))
	var effects ledger
	looks := func(name string) worker.Option {
		return worker.Hooks(hook.New(name, hook.OnMetrics.Do(func(context.Context, *hook.Report) error { return nil })))
	}
	guard := worker.Hooks(hook.New("guard", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { return nil })))
	tools := worker.Tools(tool("test__send", effects.counted(echo), once, risky))
	stop := w.work(tools, looks("before"))
	call := w.start(invocation("call", "test__send", `{"text":"hello"}`))
	view := w.waiting(call.WorkflowID)
	if answer := w.decide(call.WorkflowID, approval(view.ApprovalID, ann)); !answer.Counted {
		t.Fatalf("the first: %+v", answer)
	}
	stop()
	// Nobody works when the second one comes; what works then has another closed hook and lacks a logged one.
	if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(view.ApprovalID, ben)); err != nil {
		t.Fatal(err)
	}
	stop = w.work(tools, guard, looks("after"))
	if again := w.waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
		t.Errorf("it waits for %s, not %s", again.ApprovalID, view.ApprovalID)
	}
	for _, who := range []string{ann, ben} {
		if answer := w.decide(call.WorkflowID, withReason(approval(view.ApprovalID, who), "again")); answer.Counted || !strings.Contains(answer.Reason, "approved already") {
			t.Errorf("%s once more: %+v", who, answer)
		}
	}
	stop()
	w.work(tools)
	if answer := w.decide(call.WorkflowID, approval(view.ApprovalID, "user:cid")); !answer.Counted {
		t.Errorf("the third: %+v", answer)
	}
	wantText(t, w.result(call), "hello")
	if n := effects.of("call"); n != 1 {
		t.Errorf("%d effects", n)
	}
}

func withReason(d toolspec.Decision, reason string) toolspec.Decision {
	d.Reason = reason
	return d
}
