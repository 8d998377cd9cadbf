package histories

import (
	"context"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// plain records calls that need no approval.
func (r *recorder) plain(t *testing.T) {
	w := e2etest.NewWorld(t, strings.Replace(e2etest.PlainPolicy, `"test__*"]`, `"test__r*", "test__w*"]`, 1))
	w.Work(worker.Tools(
		e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__regular", e2etest.Echo),
		e2etest.Tool("test__write", e2etest.Echo, e2etest.Idempotent), e2etest.Tool("test__denied", e2etest.Echo, e2etest.Fast),
		e2etest.Tool("test__wquick", e2etest.Echo, e2etest.Once, e2etest.Fast),
		e2etest.Tool("test__rlarge", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: strings.Repeat("x", 100<<10)}, nil
		}, e2etest.Fast, func(d *toolspec.Definition) { d.MaxResultBytes = 1 << 20 }),
	))
	for shape, toolID := range map[string]string{
		"read_local": "test__read", "read_regular": "test__regular", "write_idempotent": "test__write", "denied_by_policy": "test__denied",
		"large_short": "test__rlarge", "write_claimed": "test__wquick",
	} {
		inv := e2etest.Invocation(shape, toolID, `{"text":"hello"}`)
		w.Invoke(inv)
		r.ended(w, shape, inv)
	}
	invalid := e2etest.Invocation("invalid_arguments", "test__read", `{"text":7}`)
	w.Invoke(invalid)
	r.ended(w, "invalid_arguments", invalid)

	// Start the same call again after its end, with the same and with other arguments, and a workflow with an input that is no call.
	for shape, send := range map[string]any{
		"settled_before": e2etest.Invocation("read_local", "test__read", `{"text":"hello"}`),
		"conflict":       e2etest.Invocation("read_local", "test__read", `{"text":"other"}`),
		"undecodable":    []int{1, 2},
	} {
		id := e2etest.Invocation("read_local", "", "").Identity().WorkflowID()
		if shape == "undecodable" {
			id = "tool:acme:run:undecodable"
		}
		run, err := w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: id, TaskQueue: toolspec.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, toolspec.WorkflowType, send)
		if err != nil {
			t.Fatal(err)
		}
		w.Ended(run)
		r.take(w, shape, w.History(id, run.GetRunID()))
	}
}

// approvals records calls that a person decides on, and calls that nobody decides on.
func (r *recorder) approvals(t *testing.T) {
	w := e2etest.NewWorld(t, strings.Replace(e2etest.PlainPolicy, "  globex:", `    repair: ["test__mended"]
  hasty:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1s, allowUnsigned: true}
  globex:`, 1))
	w.Work(worker.Tools(waitingTool("test__write", e2etest.Echo),
		e2etest.Tool("test__never", e2etest.Echo, e2etest.Idempotent, e2etest.Risky), e2etest.Tool("test__mended", e2etest.Echo, e2etest.Fast)))
	start := func(shape string) (toolspec.Invocation, *asked) {
		inv := e2etest.Invocation(shape, "test__write", `{"text":"hello"}`)
		call := w.Start(inv)
		return inv, &asked{call, w.Waiting(call.WorkflowID)}
	}
	signal := func(workflowID, name string, payload any) {
		if err := w.Temporal.SignalWorkflow(t.Context(), workflowID, "", name, payload); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(c *asked) toolspec.ApprovalView {
		w.WantAnswer(c.Call, toolspec.Decision{
			ApprovalID: c.view.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: []byte(`{"text":"edited"}`),
		}, "")
		return w.Waiting(c.WorkflowID, c.view.ApprovalID)
	}

	inv, c := start("approved_by_signal")
	signal(c.WorkflowID, toolspec.DecideName, e2etest.Approving(c.view.ApprovalID, e2etest.Ann))
	e2etest.WantText(t, w.Result(c.Call), "hello")
	r.ended(w, "approved_by_signal", inv)

	inv, c = start("approved_by_update")
	w.WantAnswer(c.Call, e2etest.Approving(c.view.ApprovalID, e2etest.Actor), "requester")
	w.WantAnswer(c.Call, e2etest.Approving(c.view.ApprovalID, e2etest.Ann), "")
	e2etest.WantText(t, w.Result(c.Call), "hello")
	r.ended(w, "approved_by_update", inv)

	// A read that needs an approval only because its arguments were repaired.
	inv = e2etest.Invocation("mended_then_approved", "test__mended", `"{text: \"hello\"}"`)
	call := w.Start(inv)
	w.WantAnswer(call, e2etest.Approving(w.Waiting(call.WorkflowID).ApprovalID, e2etest.Ann), "")
	e2etest.WantText(t, w.Result(call), "hello")
	r.ended(w, "mended_then_approved", inv)

	inv, c = start("denied_by_person")
	signal(c.WorkflowID, toolspec.DecideName, toolspec.Decision{ApprovalID: c.view.ApprovalID, Decision: toolspec.Deny, Approver: e2etest.Ann})
	e2etest.WantCode(t, w.Result(c.Call), toolspec.CodeApprovalDenied)
	r.ended(w, "denied_by_person", inv)

	inv, c = start("edited_then_approved")
	w.WantAnswer(c.Call, e2etest.Approving(edit(c).ApprovalID, e2etest.Ben), "")
	e2etest.WantText(t, w.Result(c.Call), "edited")
	r.ended(w, "edited_then_approved", inv)

	inv, c = start("cancelled_waiting")
	if err := w.Pawl.Cancel(t.Context(), c.WorkflowID); err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, w.Result(c.Call), toolspec.CodeCancelled)
	r.ended(w, "cancelled_waiting", inv)

	inv = e2etest.Invocation("approved_too_early", "test__write", `{"text":"hello"}`)
	id := inv.Identity()
	run, err := w.Temporal.SignalWithStartWorkflow(t.Context(), id.WorkflowID(), toolspec.DecideName,
		e2etest.Approving(toolspec.ApprovalID(id.InvocationID(), 1), e2etest.Ann), client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue},
		toolspec.WorkflowType, inv)
	if err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Ended(run), "hello")
	r.ended(w, "approved_too_early", inv)

	inv = e2etest.Invocation("approval_expired", "test__write", `{"text":"hello"}`)
	inv.Context.TenantID = "hasty"
	e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeApprovalExpired)
	r.ended(w, "approval_expired", inv)

	inv, _ = start("waiting_approval")
	r.waits(w, "waiting_approval", "timer", inv)
	inv, c = start("waiting_edited")
	edit(c)
	r.waits(w, "waiting_edited", "timer", inv)

	// This case is the last one, because the change of the policy sends a recheck to every waiting call.
	inv = e2etest.Invocation("policy_changed", "test__never", `{"text":"hello"}`)
	call = w.Start(inv)
	w.Waiting(call.WorkflowID)
	w.Apply(strings.ReplaceAll(e2etest.PlainPolicy, `"test__*"`, `"test__w*"`))
	e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
	r.ended(w, "policy_changed", inv)
}

// asked is a waiting call with its request.
type asked struct {
	*pawl.Call
	view toolspec.ApprovalView
}

// failing records calls that are cancelled, are retried or exceed a time limit.
func (r *recorder) failing(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var runs e2etest.Ledger
	busy := func(until int, after time.Duration) e2etest.Run {
		return func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if runs.Add(call) <= until {
				return e2etest.Out{}, toolspec.RetryAfter(after, "not now")
			}
			return e2etest.Echo(ctx, in, call)
		}
	}
	entered := make(chan struct{}, 1)
	w.Work(worker.Tools(
		e2etest.Tool("test__busy", busy(1, time.Second), e2etest.Once, e2etest.Attempts(2)),
		e2etest.Tool("test__always", busy(100, 2*time.Minute), e2etest.Once, e2etest.Attempts(3)),
		e2etest.Tool("test__slow", hang(nil), e2etest.Fast, e2etest.Within(200*time.Millisecond), e2etest.Attempts(2)),
		e2etest.Tool("test__send", hang(entered), e2etest.Once),
	))
	inv := e2etest.Invocation("retried", "test__busy", `{"text":"hello"}`)
	e2etest.WantText(t, w.Invoke(inv), "hello")
	r.ended(w, "retried", inv)

	inv = e2etest.Invocation("timed_out", "test__slow", `{}`)
	e2etest.WantCode(t, w.Invoke(inv), toolspec.CodeTimeout)
	r.ended(w, "timed_out", inv)

	inv = e2etest.Invocation("cancelled_in_execute", "test__send", `{}`)
	call := w.Start(inv)
	e2etest.Receive(t, entered)
	if err := w.Pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, w.Result(call), toolspec.CodeOutcomeUnknown)
	r.ended(w, "cancelled_in_execute", inv)

	inv = e2etest.Invocation("cancelled_retrying", "test__always", `{}`)
	call = w.Start(inv)
	w.Retrying(call.WorkflowID)
	if err := w.Pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, w.Result(call), toolspec.CodeCancelled)
	r.ended(w, "cancelled_retrying", inv)
}

// hang makes a tool that runs until its context ends.
func hang(entered chan<- struct{}) e2etest.Run {
	return func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
		if entered != nil {
			entered <- struct{}{}
		}
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}
}
