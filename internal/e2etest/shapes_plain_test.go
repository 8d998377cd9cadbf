package e2etest

import (
	"context"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// plain records calls that nobody is asked about.
func (r *recorder) plain(t *testing.T) {
	w := newWorld(t, strings.Replace(plainPolicy, `"test__*"]`, `"test__r*", "test__w*"]`, 1))
	w.work(worker.Tools(
		tool("test__read", echo, fast), tool("test__regular", echo), tool("test__write", echo, idempotent), tool("test__denied", echo, fast),
		tool("test__rlarge", func(context.Context, in, toolspec.Call) (out, error) {
			return out{Text: strings.Repeat("x", 100<<10)}, nil
		}, fast, func(d *toolspec.Definition) { d.MaxResultBytes = 1 << 20 }),
	))
	for shape, toolID := range map[string]string{
		"read_local": "test__read", "read_regular": "test__regular", "write_idempotent": "test__write", "denied_by_policy": "test__denied",
		"large_output": "test__rlarge",
	} {
		inv := invocation(shape, toolID, `{"text":"hello"}`)
		w.invoke(inv)
		r.ended(w, shape, inv)
	}
	invalid := invocation("invalid_arguments", "test__read", `{"text":7}`)
	w.invoke(invalid)
	r.ended(w, "invalid_arguments", invalid)

	// The same call once more, after its end, as it was and with other arguments; and something that is no call.
	for shape, send := range map[string]any{
		"settled_before": invocation("read_local", "test__read", `{"text":"hello"}`),
		"conflict":       invocation("read_local", "test__read", `{"text":"other"}`),
		"undecodable":    []int{1, 2},
	} {
		id := invocation("read_local", "", "").Identity().WorkflowID()
		if shape == "undecodable" {
			id = "tool:acme:run:undecodable"
		}
		run, err := w.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: id, TaskQueue: toolspec.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, toolspec.WorkflowType, send)
		if err != nil {
			t.Fatal(err)
		}
		w.ended(run)
		r.take(w, shape, w.history(id, run.GetRunID()))
	}
}

// approvals records calls that a person decides on, or nobody.
func (r *recorder) approvals(t *testing.T) {
	w := newWorld(t, strings.Replace(plainPolicy, "  globex:", `    repair: ["test__mended"]
  hasty:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1s, allowUnsigned: true}
  globex:`, 1))
	w.work(worker.Tools(waitingTool("test__write", echo), tool("test__never", echo, idempotent, risky), tool("test__mended", echo, fast)))
	start := func(shape string) (toolspec.Invocation, *asked) {
		inv := invocation(shape, "test__write", `{"text":"hello"}`)
		call := w.start(inv)
		return inv, &asked{call, w.waiting(call.WorkflowID)}
	}
	signal := func(workflowID, name string, payload any) {
		if err := w.temporal.SignalWorkflow(t.Context(), workflowID, "", name, payload); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(c *asked) toolspec.ApprovalView {
		w.wantAnswer(c.Call, toolspec.Decision{
			ApprovalID: c.view.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: []byte(`{"text":"edited"}`),
		}, "")
		return w.waiting(c.WorkflowID, c.view.ApprovalID)
	}

	inv, c := start("approved_by_signal")
	signal(c.WorkflowID, toolspec.DecideName, approval(c.view.ApprovalID, ann))
	wantText(t, w.result(c.Call), "hello")
	r.ended(w, "approved_by_signal", inv)

	inv, c = start("approved_by_update")
	w.wantAnswer(c.Call, approval(c.view.ApprovalID, actor), "requester")
	w.wantAnswer(c.Call, approval(c.view.ApprovalID, ann), "")
	wantText(t, w.result(c.Call), "hello")
	r.ended(w, "approved_by_update", inv)

	// A read that asks nobody but for what was done to its arguments.
	inv = invocation("mended_then_approved", "test__mended", `"{text: \"hello\"}"`)
	call := w.start(inv)
	w.wantAnswer(call, approval(w.waiting(call.WorkflowID).ApprovalID, ann), "")
	wantText(t, w.result(call), "hello")
	r.ended(w, "mended_then_approved", inv)

	inv, c = start("denied_by_person")
	signal(c.WorkflowID, toolspec.DecideName, toolspec.Decision{ApprovalID: c.view.ApprovalID, Decision: toolspec.Deny, Approver: ann})
	wantCode(t, w.result(c.Call), toolspec.CodeApprovalDenied)
	r.ended(w, "denied_by_person", inv)

	inv, c = start("edited_then_approved")
	w.wantAnswer(c.Call, approval(edit(c).ApprovalID, ben), "")
	wantText(t, w.result(c.Call), "edited")
	r.ended(w, "edited_then_approved", inv)

	inv, c = start("cancelled_waiting")
	if err := w.pawl.Cancel(t.Context(), c.WorkflowID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.result(c.Call), toolspec.CodeCancelled)
	r.ended(w, "cancelled_waiting", inv)

	inv = invocation("approved_too_early", "test__write", `{"text":"hello"}`)
	id := inv.Identity()
	run, err := w.temporal.SignalWithStartWorkflow(t.Context(), id.WorkflowID(), toolspec.DecideName,
		approval(toolspec.ApprovalID(id.InvocationID(), 1), ann), client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, toolspec.WorkflowType, inv)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, w.ended(run), "hello")
	r.ended(w, "approved_too_early", inv)

	inv = invocation("approval_expired", "test__write", `{"text":"hello"}`)
	inv.Context.TenantID = "hasty"
	wantCode(t, w.invoke(inv), toolspec.CodeApprovalExpired)
	r.ended(w, "approval_expired", inv)

	inv, _ = start("waiting_approval")
	r.waits(w, "waiting_approval", "timer", inv)
	inv, c = start("waiting_edited")
	edit(c)
	r.waits(w, "waiting_edited", "timer", inv)

	// Last, for every call that waits here looks again.
	inv = invocation("policy_changed", "test__never", `{"text":"hello"}`)
	call = w.start(inv)
	w.waiting(call.WorkflowID)
	w.apply(strings.ReplaceAll(plainPolicy, `"test__*"`, `"test__w*"`))
	wantCode(t, w.result(call), toolspec.CodePolicyDenied)
	r.ended(w, "policy_changed", inv)
}

// asked is a call that waits, with its request.
type asked struct {
	*pawl.Call
	view toolspec.ApprovalView
}

// failing records calls that are cancelled, retried or out of time.
func (r *recorder) failing(t *testing.T) {
	w := newWorld(t, plainPolicy)
	var runs ledger
	busy := func(until int, after time.Duration) run {
		return func(ctx context.Context, in in, call toolspec.Call) (out, error) {
			if runs.add(call) <= until {
				return out{}, toolspec.RetryAfter(after, "not now")
			}
			return echo(ctx, in, call)
		}
	}
	entered := make(chan struct{}, 1)
	w.work(worker.Tools(
		tool("test__busy", busy(1, time.Second), once, attempts(2)),
		tool("test__always", busy(100, 2*time.Minute), once, attempts(3)),
		tool("test__slow", hang(nil), fast, within(200*time.Millisecond), attempts(2)),
		tool("test__send", hang(entered), once),
	))
	inv := invocation("retried", "test__busy", `{"text":"hello"}`)
	wantText(t, w.invoke(inv), "hello")
	r.ended(w, "retried", inv)

	inv = invocation("timed_out", "test__slow", `{}`)
	wantCode(t, w.invoke(inv), toolspec.CodeTimeout)
	r.ended(w, "timed_out", inv)

	inv = invocation("cancelled_in_execute", "test__send", `{}`)
	call := w.start(inv)
	receive(t, entered)
	if err := w.pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.result(call), toolspec.CodeOutcomeUnknown)
	r.ended(w, "cancelled_in_execute", inv)

	inv = invocation("cancelled_retrying", "test__always", `{}`)
	call = w.start(inv)
	w.retrying(call.WorkflowID)
	if err := w.pawl.Cancel(t.Context(), call.WorkflowID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.result(call), toolspec.CodeCancelled)
	r.ended(w, "cancelled_retrying", inv)
}

// hang makes a tool that ends when it is stopped.
func hang(entered chan<- struct{}) run {
	return func(ctx context.Context, _ in, _ toolspec.Call) (out, error) {
		if entered != nil {
			entered <- struct{}{}
		}
		<-ctx.Done()
		return out{}, ctx.Err()
	}
}
