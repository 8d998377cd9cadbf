package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// actor is who calls in these tests; ann and ben are people who decide.
const (
	actor = "agent:one"
	ann   = "user:ann"
	ben   = "user:ben"
)

// invocation is a call of tenant acme; its id is unique in its world only.
func invocation(id, toolID, args string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: id, Args: json.RawMessage(args),
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: actor},
	}
}

// start starts a call.
func (w *world) start(inv toolspec.Invocation) *pawl.Call {
	w.t.Helper()
	call, err := w.pawl.Start(w.t.Context(), inv)
	if err != nil {
		w.t.Fatal(err)
	}
	return call
}

// result waits for how a call ends, with a value or without.
func (w *world) result(call *pawl.Call) toolspec.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	result, err := w.pawl.Result(ctx, call)
	var ended *pawl.CallError
	if errors.As(err, &ended) {
		return ended.Result
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// ended waits for a run to complete, whoever started it.
func (w *world) ended(run client.WorkflowRun) toolspec.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var result toolspec.Result
	if err := run.Get(ctx, &result); err != nil {
		w.t.Fatalf("%s did not complete: %v", run.GetID(), err)
	}
	return result
}

// invoke is start and result.
func (w *world) invoke(inv toolspec.Invocation) toolspec.Result {
	w.t.Helper()
	return w.result(w.start(inv))
}

// waiting returns the approval request of a call once it waits for one, other than the one before.
func (w *world) waiting(workflowID string, before ...string) toolspec.ApprovalView {
	w.t.Helper()
	var view toolspec.ApprovalView
	var last error
	w.until(func() bool {
		state, err := w.pawl.State(w.t.Context(), workflowID)
		if last = err; err != nil || state.Approval == nil {
			return false
		}
		view = *state.Approval
		return len(before) == 0 || view.ApprovalID != before[0]
	}, workflowID+" waits for an approval", &last)
	return view
}

// state asks a call how it is until it answers.
func (w *world) state(workflowID string) (state toolspec.State) {
	w.t.Helper()
	var last error
	w.until(func() bool {
		state, last = w.pawl.State(w.t.Context(), workflowID)
		return last == nil
	}, workflowID+" says how it is", &last)
	return state
}

// decide sends a decision as an update and returns the answer.
func (w *world) decide(workflowID string, d toolspec.Decision) toolspec.Answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	answer, err := w.pawl.Decide(ctx, workflowID, d)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

// approve waits for the request of a call and approves it as ann.
func (w *world) approve(workflowID string) toolspec.ApprovalView {
	w.t.Helper()
	view := w.waiting(workflowID)
	if answer := w.decide(workflowID, approval(view.ApprovalID, ann)); !answer.Counted {
		w.t.Fatalf("the approval did not count: %s", answer.Reason)
	}
	return view
}

func approval(approvalID, approver string) toolspec.Decision {
	return toolspec.Decision{ApprovalID: approvalID, Decision: toolspec.Approve, Approver: approver}
}

// record is what the database knows of a call, which tells one start and one
// result of every call that is settled.
func (w *world) record(inv toolspec.Invocation) postgres.Detail {
	w.t.Helper()
	detail := w.readRecord(inv)
	told := oracle.Told(&detail)
	// It is read in two steps, and a call that goes on may take one between them.
	for try := 0; told != nil && try < 3; try++ {
		detail = w.readRecord(inv)
		told = oracle.Told(&detail)
	}
	if told != nil {
		w.t.Errorf("%s: %v", inv.ToolCallID, told)
	}
	return detail
}

func (w *world) readRecord(inv toolspec.Invocation) postgres.Detail {
	w.t.Helper()
	var detail postgres.Detail
	var err error
	// A database that has been away leaves dead connections in the test's own pool.
	w.until(func() bool {
		detail, err = w.store.Show(w.t.Context(), inv.Context.TenantID, inv.Identity().InvocationID())
		return !hook.IsTransient(err)
	}, "the database answers", &err)
	if err != nil {
		w.t.Fatal(err)
	}
	return detail
}

// wantCode fails unless the call ended with the code.
func wantCode(t *testing.T, r toolspec.Result, code toolspec.Code) {
	t.Helper()
	if r.OK || r.ErrorCode != code {
		t.Fatalf("the call ended with ok=%t %q (%s) %+v, want %q", r.OK, r.ErrorCode, r.SafeMessage, r.Details, code)
	}
}

// wantText fails unless the call has the text as its whole value.
func wantText(t *testing.T, r toolspec.Result, text string) {
	t.Helper()
	want := asJSON(out{Text: text})
	if !r.OK || string(r.Value) != want {
		t.Fatalf("the call ended with ok=%t %q (%s) %+v and %s, want %s", r.OK, r.ErrorCode, r.SafeMessage, r.Details, r.Value, want)
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
