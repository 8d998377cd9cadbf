package approvals

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// newWrites makes a world with the tools core__write_file and test__write. The latter is a write that needs an approval.
func newWrites(t *testing.T) *e2etest.World {
	t.Helper()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__write", e2etest.Echo, e2etest.Idempotent, e2etest.Risky)))
	return w
}

// TestEmptyDecisions: a signal without a valid decision decides nothing, and a later decision still counts.
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
			w.T = t
			call := w.Start(e2etest.Invocation(name, "test__write", `{"text":"hello"}`))
			view := w.Waiting(call.WorkflowID)
			if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, payload); err != nil {
				t.Fatal(err)
			}
			// The call still waits for the same approval.
			if again := w.Waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
				t.Errorf("the call waits for %s now, want %s", again.ApprovalID, view.ApprovalID)
			}
			w.Approve(call.WorkflowID)
			e2etest.WantText(t, w.Result(call), "hello")
		})
	}
}

// TestEarlyDecision: an approval that comes before its request is open counts. The sender can compute the id of the request.
func TestEarlyDecision(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	inv := e2etest.Invocation("early", "test__write", `{"text":"hello"}`)
	id := inv.Identity()
	run, err := w.Temporal.SignalWithStartWorkflow(t.Context(), id.WorkflowID(), toolspec.DecideName,
		e2etest.Approving(toolspec.ApprovalID(id.InvocationID(), 1), e2etest.Ann),
		client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, toolspec.WorkflowType, inv)
	if err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Ended(run), "hello")
	if a := w.Record(inv).Approvals; len(a) != 1 || a[0].Approver != e2etest.Ann {
		t.Errorf("approvals %+v, want one by %s", a, e2etest.Ann)
	}
}

// TestDecisions checks whose decisions count, and until when.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	each := func(name string, f func(w *e2etest.World, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			inv := e2etest.Invocation(name, "test__write", `{"text":"hello"}`)
			call := w.Start(inv)
			f(&w, inv, call, w.Waiting(call.WorkflowID))
		})
	}
	each("requester", func(w *e2etest.World, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Actor), "requester")
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "")
		e2etest.WantText(w.T, w.Result(call), "hello")
		decisions := w.Record(inv).Approvals[0].Decisions
		if len(decisions) != 2 || decisions[0].Counted || !decisions[1].Counted {
			w.T.Errorf("decisions %+v, want one that did not count and one that did", decisions)
		}
	})
	each("same-twice", func(w *e2etest.World, _ toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "")
		e2etest.WantText(w.T, w.Result(call), "hello")
		// The same decision is the same update, and so the server gives the same answer.
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "")
		if _, err := w.Pawl.Decide(w.T.Context(), call.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ben)); !errors.Is(err,
			pawl.ErrSettled) {
			w.T.Errorf("another decision on a settled call: %v, want ErrSettled", err)
		}
	})
	each("first-wins", func(w *e2etest.World, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		// Two signals follow each other immediately, and the first one is final.
		for _, d := range []toolspec.Decision{
			{ApprovalID: view.ApprovalID, Decision: toolspec.Deny, Approver: e2etest.Ann},
			{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Approver: e2etest.Ben},
		} {
			if err := w.Temporal.SignalWorkflow(w.T.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
				// The first signal may have settled the call by now.
				w.T.Log(err)
			}
		}
		r := w.Result(call)
		e2etest.WantCode(w.T, r, toolspec.CodeApprovalDenied)
		if r.Details.ApprovalID != view.ApprovalID || r.Attempts != 0 {
			w.T.Errorf("result %+v, want no attempt and %s", r, view.ApprovalID)
		}
		if a := w.Record(inv).Approvals[0]; a.State != "denied" || a.Approver != e2etest.Ann {
			w.T.Errorf("the request is %s by %s, want denied by %s", a.State, a.Approver, e2etest.Ann)
		}
	})
	each("withdraw", func(w *e2etest.World, _ toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.WantAnswer(call, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Withdraw, Approver: e2etest.Actor}, "")
		r := w.Result(call)
		e2etest.WantCode(w.T, r, toolspec.CodeApprovalDenied)
		if !strings.Contains(r.SafeMessage, "withdrawn") {
			w.T.Errorf("the message is %q", r.SafeMessage)
		}
	})
	each("foreign", func(w *e2etest.World, _ toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		other := e2etest.Invocation("other", "test__write", `{}`).Identity().InvocationID()
		if _, err := w.Pawl.Decide(w.T.Context(), call.WorkflowID, e2etest.Approving(toolspec.ApprovalID(other, 1), e2etest.Ann)); err == nil {
			w.T.Error("the approval of another call was taken")
		}
		w.WantAnswer(call, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.SettleOK, Approver: e2etest.Ann},
			"waits for approve")
		w.WantAnswer(call, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Approver: e2etest.Ann, Proof: "a.b.c"},
			"proof")
		w.Approve(call.WorkflowID)
		e2etest.WantText(w.T, w.Result(call), "hello")
	})
	each("edit", func(w *e2etest.World, inv toolspec.Invocation, call *pawl.Call, view toolspec.ApprovalView) {
		w.WantAnswer(call, toolspec.Decision{
			ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: json.RawMessage(`{"text":7}`),
		}, "not valid")
		w.WantAnswer(call, toolspec.Decision{
			ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: json.RawMessage(`{"text":"edited"}`),
		}, "")
		second := w.Waiting(call.WorkflowID, view.ApprovalID)
		if want := toolspec.ApprovalID(inv.Identity().InvocationID(), 2); second.ApprovalID != want || second.Digest == view.Digest {
			w.T.Errorf("the second request is %s with digest %s, want %s and another digest than %s", second.ApprovalID, second.Digest, want,
				view.Digest)
		}
		if string(second.Args) != `{"text":"edited"}` {
			w.T.Errorf("the second request shows %s", second.Args)
		}
		w.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ben), "no longer open")
		w.WantAnswer(call, e2etest.Approving(second.ApprovalID, e2etest.Ann), "editor")
		w.WantAnswer(call, e2etest.Approving(second.ApprovalID, e2etest.Actor), "requester")
		w.WantAnswer(call, e2etest.Approving(second.ApprovalID, e2etest.Ben), "")
		e2etest.WantText(w.T, w.Result(call), "edited")
	})
}

// TestExpiry: a call whose request nobody decides on in time ends, by the clock of the database.
func TestExpiry(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.ReplaceAll(e2etest.PlainPolicy, "expiresAfter: 1h", "expiresAfter: 1s"))
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent, e2etest.Risky)))
	inv := e2etest.Invocation("late", "test__write", `{"text":"hello"}`)
	r := w.Invoke(inv)
	e2etest.WantCode(t, r, toolspec.CodeApprovalExpired)
	if effects.Of("late") != 0 {
		t.Error("the tool ran all the same")
	}
	if a := w.Record(inv).Approvals; len(a) != 1 || a[0].State != "expired" {
		t.Errorf("approvals %+v, want one that expired", a)
	}
}
