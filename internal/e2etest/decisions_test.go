package e2etest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// newWrites is a world with core__write_file and test__write, a write that policy asks about.
func newWrites(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__write", echo, idempotent, risky)))
	return w
}

// TestEmptyDecisions: a signal that says nothing decides nothing, and does not stand in the way of what comes after it.
func TestEmptyDecisions(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	for name, payload := range map[string]any{
		"nothing": nil, "empty": json.RawMessage(`{}`), "text": "approve", "number": 7, "list": []string{"approve"}, "bytes": []byte{0, 1},
		"wrong": json.RawMessage(`{"approvalId":7,"decision":"approve","approver":"user:ann"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			call := w.start(invocation(name, "test__write", `{"text":"hello"}`))
			view := w.waiting(call.WorkflowID)
			if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, payload); err != nil {
				t.Fatal(err)
			}
			// It goes on waiting, for the same approval.
			if again := w.waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
				t.Errorf("the call waits for %s now, want %s", again.ApprovalID, view.ApprovalID)
			}
			w.approve(call.WorkflowID)
			wantText(t, w.result(call), "hello")
		})
	}
}

// TestEarlyDecision: an approval that is there before anybody asked for it counts, as ids can be computed.
func TestEarlyDecision(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	inv := invocation("early", "test__write", `{"text":"hello"}`)
	id := inv.Identity()
	run, err := w.temporal.SignalWithStartWorkflow(t.Context(), id.WorkflowID(), toolspec.DecideName,
		approval(toolspec.ApprovalID(id.InvocationID(), 1), ann),
		client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, toolspec.WorkflowType, inv)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, w.ended(run), "hello")
	if a := w.record(inv).Approvals; len(a) != 1 || a[0].Approver != ann {
		t.Errorf("approvals %+v, want one by %s", a, ann)
	}
}

// TestDecisions: who counts, and for how long.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	each := func(name string, f func(w *world, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			inv := invocation(name, "test__write", `{"text":"hello"}`)
			call := w.start(inv)
			f(&w, inv, call, w.waiting(call.WorkflowID))
		})
	}
	each("requester", func(w *world, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.wantAnswer(call, approval(view.ApprovalID, actor), "requester")
		w.wantAnswer(call, approval(view.ApprovalID, ann), "")
		wantText(w.t, w.result(call), "hello")
		decisions := w.record(inv).Approvals[0].Decisions
		if len(decisions) != 2 || decisions[0].Counted || !decisions[1].Counted {
			w.t.Errorf("decisions %+v, want one that did not count and one that did", decisions)
		}
	})
	each("same-twice", func(w *world, _ toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.wantAnswer(call, approval(view.ApprovalID, ann), "")
		wantText(w.t, w.result(call), "hello")
		// The same decision is the same update: its answer is remembered.
		w.wantAnswer(call, approval(view.ApprovalID, ann), "")
		if _, err := w.pawl.Decide(w.t.Context(), call.WorkflowID, approval(view.ApprovalID, ben)); !errors.Is(err, pawl.ErrSettled) {
			w.t.Errorf("another decision on a settled call: %v, want ErrSettled", err)
		}
	})
	each("first-wins", func(w *world, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		// Two signals in one breath: the first is final.
		for _, d := range []toolspec.Decision{
			{ApprovalID: view.ApprovalID, Decision: toolspec.Deny, Approver: ann},
			{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Approver: ben},
		} {
			if err := w.temporal.SignalWorkflow(w.t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
				// The first may have settled the call by now.
				w.t.Log(err)
			}
		}
		r := w.result(call)
		wantCode(w.t, r, toolspec.CodeApprovalDenied)
		if r.Details.ApprovalID != view.ApprovalID || r.Attempts != 0 {
			w.t.Errorf("result %+v, want no attempt and %s", r, view.ApprovalID)
		}
		if a := w.record(inv).Approvals[0]; a.State != "denied" || a.Approver != ann {
			w.t.Errorf("the request is %s by %s, want denied by %s", a.State, a.Approver, ann)
		}
	})
	each("withdraw", func(w *world, _ toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.wantAnswer(call, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Withdraw, Approver: actor}, "")
		r := w.result(call)
		wantCode(w.t, r, toolspec.CodeApprovalDenied)
		if !strings.Contains(r.SafeMessage, "withdrawn") {
			w.t.Errorf("the message is %q", r.SafeMessage)
		}
	})
	each("foreign", func(w *world, _ toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		other := invocation("other", "test__write", `{}`).Identity().InvocationID()
		if _, err := w.pawl.Decide(w.t.Context(), call.WorkflowID, approval(toolspec.ApprovalID(other, 1), ann)); err == nil {
			w.t.Error("the approval of another call was taken")
		}
		w.wantAnswer(call, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.SettleOK, Approver: ann}, "waits for approve")
		w.wantAnswer(call, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Approver: ann, Proof: "a.b.c"}, "proof")
		w.approve(call.WorkflowID)
		wantText(w.t, w.result(call), "hello")
	})
	each("edit", func(w *world, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.wantAnswer(call, toolspec.Decision{
			ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: json.RawMessage(`{"text":7}`),
		}, "not valid")
		w.wantAnswer(call, toolspec.Decision{
			ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: json.RawMessage(`{"text":"edited"}`),
		}, "")
		second := w.waiting(call.WorkflowID, view.ApprovalID)
		if want := toolspec.ApprovalID(inv.Identity().InvocationID(), 2); second.ApprovalID != want || second.Digest == view.Digest {
			w.t.Errorf("the second request is %s with digest %s, want %s and another digest than %s", second.ApprovalID, second.Digest, want, view.Digest)
		}
		if string(second.Args) != `{"text":"edited"}` {
			w.t.Errorf("the second request shows %s", second.Args)
		}
		w.wantAnswer(call, approval(view.ApprovalID, ben), "no longer open")
		w.wantAnswer(call, approval(second.ApprovalID, ann), "editor")
		w.wantAnswer(call, approval(second.ApprovalID, actor), "requester")
		w.wantAnswer(call, approval(second.ApprovalID, ben), "")
		wantText(w.t, w.result(call), "edited")
	})
}

// TestExpiry: what nobody decides in time ends, by the database's clock.
func TestExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.ReplaceAll(plainPolicy, "expiresAfter: 1h", "expiresAfter: 1s"))
	var effects ledger
	w.work(worker.Tools(tool("test__write", effects.counted(echo), idempotent, risky)))
	inv := invocation("late", "test__write", `{"text":"hello"}`)
	r := w.invoke(inv)
	wantCode(t, r, toolspec.CodeApprovalExpired)
	if effects.of("late") != 0 {
		t.Error("the tool ran all the same")
	}
	if a := w.record(inv).Approvals; len(a) != 1 || a[0].State != "expired" {
		t.Errorf("approvals %+v, want one that expired", a)
	}
}

// wantAnswer decides and compares the answer; an empty reason means that the decision counts.
func (w *world) wantAnswer(call *pawl.Call, d toolspec.Decision, reason string) {
	w.t.Helper()
	answer := w.decide(call.WorkflowID, d)
	if answer.Counted != (reason == "") || !strings.Contains(answer.Reason, reason) {
		w.t.Errorf("%s %ss: the answer is %+v, want the reason %q", d.Approver, d.Decision, answer, reason)
	}
}
