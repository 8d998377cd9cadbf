package histories

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// takesNoActivities keeps a worker from taking activities, so that an attempt waits in the queue.
func takesNoActivities(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	switch m := req.(type) {
	case *workflowservice.PollActivityTaskQueueRequest:
		<-ctx.Done()
		return ctx.Err()
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		for _, c := range m.GetCommands() {
			if a := c.GetScheduleActivityTaskCommandAttributes(); a != nil {
				a.RequestEagerExecution = false
			}
		}
	}
	return invoke(ctx, method, req, reply, conn, options...)
}

// denied records calls that the gate denies after it has allowed them: one whose attempt waits for a worker, and one that waits to dispatch its
// attempt again because the worker lacks a hook.
func (r *recorder) denied(t *testing.T) {
	denying := strings.Replace(e2etest.PlainPolicy, `"test__*"`, `"test__other"`, 1)
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	tool := worker.Tools(e2etest.Tool("test__once", e2etest.Echo, e2etest.Once))
	stop := w.WorkWith(w.Intercepted(takesNoActivities), tool)
	w.Account("acme", "c1", e2etest.Actor)
	inv := e2etest.Over(e2etest.Invocation("denied_in_queue", "test__once", `{"text":"hello"}`), "c1")
	call := w.Start(inv)
	shows(w, inv, "activity execute", 1)
	w.Apply(denying)
	e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
	r.ended(w, "denied_in_queue", inv)
	stop()

	w = e2etest.NewWorld(t, e2etest.PlainPolicy)
	tool = worker.Tools(e2etest.Tool("test__hooked", e2etest.Echo, e2etest.Idempotent, e2etest.Risky))
	stop = w.Work(tool, worker.ToolHooks("test__hooked", hook.New("watch", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { return nil }))))
	inv = e2etest.Invocation("denied_at_dispatch", "test__hooked", `{"text":"hello"}`)
	call = w.Start(inv)
	w.Waiting(call.WorkflowID)
	stop()
	w.Work(tool)
	w.Approve(call.WorkflowID)
	shows(w, inv, "timer", 2) // the first timer is for the approval
	w.Apply(denying)
	e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
	r.ended(w, "denied_at_dispatch", inv)
}

// decideLast sends the decision that ends a call. If the workflow task of the decision is lost on a busy machine, the call has ended before the client has
// its answer.
func decideLast(w *e2etest.World, call *client.Call, d toolspec.Decision) {
	w.T.Helper()
	if _, err := w.Pawl.Decide(w.T.Context(), call.WorkflowID, d); err != nil && !errors.Is(err, client.ErrSettled) {
		w.T.Fatal(err)
	}
}

// doubtLater records parked calls for which something changes during the wait: policy requires an approval for the next attempt, or a claim is in the
// record that the call does not know.
func (r *recorder) doubtLater(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.ParkingPolicy)
	tool := worker.Tools(waitingTool("test__send", func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}))
	stop := w.Work(tool)
	refused := e2etest.Invocation("parked_not_approved", "test__send", `{"text":"hello"}`)
	asking := w.Start(refused)
	view := w.Waiting(asking.WorkflowID)
	fenced := e2etest.Invocation("parked_fenced", "test__send", `{"text":"hello"}`)
	settling := w.Start(fenced)
	other := w.Waiting(settling.WorkflowID)

	stop()
	id := fenced.Identity().InvocationID()
	known, err := w.Store.DispatchesOf(t.Context(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	epoch := e2etest.Scalar[int](w, `SELECT epoch FROM invocations WHERE invocation_id = '`+id+`'`)
	raised, err := w.Store.FenceAll(t.Context(), w.Namespace, known[id], epoch)
	if err != nil || raised != epoch+1 {
		t.Fatalf("the epoch is %d after %d: %v", raised, epoch, err)
	}
	w.Work(tool)
	if err := w.Pawl.Recheck(t.Context(), settling.WorkflowID); err != nil {
		t.Fatal(err)
	}
	shows(w, fenced, "local checkAttempt", 2)
	decideLast(w, settling, toolspec.Decision{ApprovalID: other.ApprovalID, Decision: toolspec.SettleOK, Approver: "user:bob"})
	if result := w.Result(settling); !result.OK {
		t.Errorf("the settled call ended with %+v", result)
	}
	r.ended(w, "parked_fenced", fenced)

	w.Apply(strings.Replace(e2etest.ParkingPolicy, "    mode: auto\n", "    mode: auto\n    rules: [{tool: test__send, decision: require_approval}]\n", 1))
	// The new policy sends a recheck. If it arrived during the workflow task of the decision, the server would refuse this task and forget the update.
	shows(w, refused, "local reviewDecision", 1)
	decideLast(w, asking, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Retry, Approver: "user:bob"})
	e2etest.WantCode(t, w.Result(asking), toolspec.CodeOutcomeUnknown)
	r.ended(w, "parked_not_approved", refused)
}
