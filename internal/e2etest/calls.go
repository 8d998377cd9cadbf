package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Actor makes the calls of these tests. Ann and Ben are people who decide on them.
const (
	Actor = "agent:one"
	Ann   = "user:ann"
	Ben   = "user:ben"
)

// Invocation returns a call of the tenant acme. The id must be unique in its world.
func Invocation(id, toolID, args string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: id, Args: json.RawMessage(args),
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: Actor},
	}
}

// Start starts a call.
func (w *World) Start(inv toolspec.Invocation) *pawl.Call {
	w.T.Helper()
	call, err := w.Pawl.Start(w.T.Context(), inv)
	if err != nil {
		w.T.Fatal(err)
	}
	return call
}

// Result waits for the end of a call and returns its result, which may be a failure.
func (w *World) Result(call *pawl.Call) toolspec.Result {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout)
	defer cancel()
	result, err := w.Pawl.Result(ctx, call)
	var ended *pawl.CallError
	if errors.As(err, &ended) {
		return ended.Result
	}
	if err != nil {
		w.T.Fatalf("%v\n%s", err, w.Unended(call.WorkflowID))
	}
	return result
}

// Ended waits for a run to complete, whoever started it.
func (w *World) Ended(run client.WorkflowRun) toolspec.Result {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout)
	defer cancel()
	var result toolspec.Result
	if err := run.Get(ctx, &result); err != nil {
		w.T.Fatalf("%s did not complete: %v\n%s", run.GetID(), err, w.Unended(run.GetID()))
	}
	return result
}

// Invoke is Start and Result.
func (w *World) Invoke(inv toolspec.Invocation) toolspec.Result {
	w.T.Helper()
	return w.Result(w.Start(inv))
}

// Waiting waits until a call has an open approval request, and returns it. It ignores the request with the id before.
func (w *World) Waiting(workflowID string, before ...string) toolspec.ApprovalView {
	w.T.Helper()
	var view toolspec.ApprovalView
	var last error
	w.Until(func() bool {
		state, err := w.Pawl.State(w.T.Context(), workflowID)
		if last = err; err != nil || state.Approval == nil {
			return false
		}
		view = *state.Approval
		return len(before) == 0 || view.ApprovalID != before[0]
	}, workflowID+" waits for an approval", &last)
	return view
}

// State returns the state of a call. It repeats its query until there is an answer.
func (w *World) State(workflowID string) (state toolspec.State) {
	w.T.Helper()
	var last error
	w.Until(func() bool {
		state, last = w.Pawl.State(w.T.Context(), workflowID)
		return last == nil
	}, workflowID+" says how it is", &last)
	return state
}

// Decide sends a decision as an update and returns the answer.
func (w *World) Decide(workflowID string, d toolspec.Decision) toolspec.Answer {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout)
	defer cancel()
	answer, err := w.Pawl.Decide(ctx, workflowID, d)
	if err != nil {
		w.T.Fatal(err)
	}
	return answer
}

// Approve waits for the request of a call and approves it as Ann.
func (w *World) Approve(workflowID string) toolspec.ApprovalView {
	w.T.Helper()
	view := w.Waiting(workflowID)
	if answer := w.Decide(workflowID, Approving(view.ApprovalID, Ann)); !answer.Counted {
		w.T.Fatalf("the approval did not count: %s", answer.Reason)
	}
	return view
}

// Approving returns an approval by approver.
func Approving(approvalID, approver string) toolspec.Decision {
	return toolspec.Decision{ApprovalID: approvalID, Decision: toolspec.Approve, Approver: approver}
}

// Record returns what the database has about a call. It fails the test unless a settled call has exactly one start event and one result event.
func (w *World) Record(inv toolspec.Invocation) reads.Detail {
	w.T.Helper()
	detail := w.ReadRecord(inv)
	eventsErr := oracle.CheckEvents(&detail)
	// ReadRecord reads in two steps. A running call can change the record between them.
	for try := 0; eventsErr != nil && try < 3; try++ {
		detail = w.ReadRecord(inv)
		eventsErr = oracle.CheckEvents(&detail)
	}
	if eventsErr != nil {
		w.T.Errorf("%s: %v", inv.ToolCallID, eventsErr)
	}
	return detail
}

// ReadRecord is Record without that check.
func (w *World) ReadRecord(inv toolspec.Invocation) reads.Detail {
	w.T.Helper()
	var detail reads.Detail
	var err error
	// After a restart of the database, the pool of the test still has dead connections.
	w.Until(func() bool {
		detail, err = w.Store.Show(w.T.Context(), inv.Context.TenantID, inv.Identity().InvocationID())
		return !errs.IsTransient(err)
	}, "the database answers", &err)
	if err != nil {
		w.T.Fatal(err)
	}
	return detail
}

// WantCode fails unless the call ended with the code.
func WantCode(t *testing.T, r toolspec.Result, code toolspec.Code) {
	t.Helper()
	if r.OK || r.ErrorCode != code {
		t.Fatalf("the call ended with ok=%t %q (%s) %+v, want %q", r.OK, r.ErrorCode, r.SafeMessage, r.Details, code)
	}
}

// WantText fails unless the call succeeded with this text and nothing else.
func WantText(t *testing.T, r toolspec.Result, text string) {
	t.Helper()
	want := AsJSON(Out{Text: text})
	if !r.OK || string(r.Value) != want {
		t.Fatalf("the call ended with ok=%t %q (%s) %+v and %s, want %s", r.OK, r.ErrorCode, r.SafeMessage, r.Details, r.Value, want)
	}
}

// AsJSON returns a value as JSON, or the text of the error of its encoding.
func AsJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// UpdateID returns the id that package client gives to the update of a decision.
func (w *World) UpdateID(d toolspec.Decision) string {
	w.T.Helper()
	id, err := strictjson.Digest([]byte(AsJSON(d)))
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

// HasUpdate reports whether the server has an update, even if no worker has seen it.
func (w *World) HasUpdate(workflowID, updateID string) bool {
	w.T.Helper()
	_, err := w.Temporal.WorkflowService().PollWorkflowExecutionUpdate(w.T.Context(), &workflowservice.PollWorkflowExecutionUpdateRequest{
		Namespace:  w.Namespace,
		UpdateRef:  &updatepb.UpdateRef{WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflowID}, UpdateId: updateID},
		WaitPolicy: &updatepb.WaitPolicy{LifecycleStage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED},
	})
	var unknown *serviceerror.NotFound
	if err != nil && !errors.As(err, &unknown) {
		w.T.Fatal(err)
	}
	return err == nil
}

// WantAnswer sends a decision and checks the answer: the reason must contain reason, and "" means that the decision counts.
func (w *World) WantAnswer(call *pawl.Call, d toolspec.Decision, reason string) {
	w.T.Helper()
	answer := w.Decide(call.WorkflowID, d)
	if answer.Counted != (reason == "") || !strings.Contains(answer.Reason, reason) {
		w.T.Errorf("%s %ss: the answer is %+v, want the reason %q", d.Approver, d.Decision, answer, reason)
	}
}

// SameResult compares two results by their JSON.
func SameResult(a, b toolspec.Result) bool { return AsJSON(a) == AsJSON(b) }

// Queued waits until the state of a call says that it waits for capacity.
func (w *World) Queued(call *pawl.Call) toolspec.State {
	w.T.Helper()
	var state toolspec.State
	w.Until(func() bool {
		var err error
		state, err = w.Pawl.State(w.T.Context(), call.WorkflowID)
		return err == nil && state.Status == toolspec.StatusWaitingCapacity
	}, call.WorkflowID+" waits for capacity")
	return state
}

// Retrying waits until a call is between two attempts.
func (w *World) Retrying(workflowID string) {
	w.T.Helper()
	var last error
	w.Until(func() bool {
		var state toolspec.State
		state, last = w.Pawl.State(w.T.Context(), workflowID)
		return last == nil && state.Status == toolspec.StatusRetrying
	}, workflowID+" retries", &last)
}
