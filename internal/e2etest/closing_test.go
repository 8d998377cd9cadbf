package e2etest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/worker"
)

// closings holds up the task that closes a call, on its way from the worker to the server: what is sent meanwhile lands in that task, the
// server throws the task away and has it run again.
type closings struct {
	mu   sync.Mutex
	held map[string]*closing // by toolCallId
}

// closing is one such task: reached is closed when it is on its way, and it goes on once release is closed.
type closing struct{ reached, release chan struct{} }

// hold holds up the next closing task of a call.
func (c *closings) hold(toolCallID string) *closing {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[string]*closing{}
	}
	held := &closing{make(chan struct{}), make(chan struct{})}
	c.held[toolCallID] = held
	return held
}

// take returns what holds up a task, once.
func (c *closings) take(task *workflowservice.RespondWorkflowTaskCompletedRequest) *closing {
	var result toolspec.Result
	for _, command := range task.GetCommands() {
		// No other command has a result, and none of nothing is held up.
		_ = converter.GetDefaultDataConverter().FromPayloads(command.GetCompleteWorkflowExecutionCommandAttributes().GetResult(), &result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held[result.ToolCallID]
	delete(c.held, result.ToolCallID)
	return held
}

// intercept stands in the worker's connection.
func (c *closings) intercept(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok {
		if held := c.take(task); held != nil {
			close(held.reached)
			select {
			case <-held.release:
			case <-ctx.Done():
			}
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// intercepted is the configuration of a worker of this world with an interceptor in its connection to Temporal.
func (w *world) intercepted(i grpc.UnaryClientInterceptor) worker.Config {
	c := w.config()
	c.Temporal.ConnectionOptions.DialOptions = append(c.Temporal.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(i))
	return c
}

// unhandled counts the tasks that the server threw away because something had come in between.
func (w *world) unhandled(workflowID string) (n int) {
	w.t.Helper()
	for _, e := range w.history(workflowID, "").GetEvents() {
		if e.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
			n++
		}
	}
	return n
}

// TestClosingTask: what arrives while the closing task is on its way changes nothing. The record is settled by then, and the task that
// runs again answers from it: one effect, one result, and for who decides the word that it came too late.
func TestClosingTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	var gates closings
	w.workWith(w.intercepted(gates.intercept), worker.Tools(
		tool("test__fast", effects.counted(echo), fast), tool("test__send", effects.counted(echo), once),
	))
	for name, send := range map[string]func(w *world, call *pawl.Call) (after func()){
		"decide": func(w *world, call *pawl.Call) func() {
			d := approval(toolspec.ApprovalID(call.InvocationID, 1), ann)
			w.inTime(w.temporal.SignalWorkflow(w.t.Context(), call.WorkflowID, "", toolspec.DecideName, d))
			return nil
		},
		"recheck": func(w *world, call *pawl.Call) func() {
			w.inTime(w.pawl.Recheck(w.t.Context(), call.WorkflowID))
			return nil
		},
		"cancel": func(w *world, call *pawl.Call) func() {
			w.inTime(w.pawl.Cancel(w.t.Context(), call.WorkflowID))
			return nil
		},
		// The task is on its way to the end, so the server has nobody left to ask: the sender hears that the call is settled.
		"update": func(w *world, call *pawl.Call) func() {
			late := w.decideMeanwhile(call)
			return func() {
				answer, err := late()
				// Where the task was held for longer than it has, the server has given it up, and the one after it brought the update.
				again := count(w.history(call.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) > 0
				if !errors.Is(err, pawl.ErrSettled) && (!again || err != nil || answer.Counted || answer.Reason != "the call is settled") {
					w.t.Errorf("a decision in the closing task: %+v and %v, want ErrSettled", answer, err)
				}
			}
		},
		// The signal has the task run again. The update is in it, and its handler answers before the workflow closes; or the server dropped
		// it with the task that it threw away, and the client finds the call over when it sends the update again.
		"update-and-signal": func(w *world, call *pawl.Call) func() {
			late := w.decideMeanwhile(call)
			w.inTime(w.pawl.Recheck(w.t.Context(), call.WorkflowID))
			return func() {
				answer, err := late()
				if !errors.Is(err, pawl.ErrSettled) && (err != nil || answer.Counted || answer.Reason != "the call is settled") {
					w.t.Errorf("a decision in the closing task that runs again: %+v and %v, want one that comes too late", answer, err)
				}
			}
		},
	} {
		for lane, toolID := range map[string]string{"local": "test__fast", "regular": "test__send"} {
			t.Run(name+"/"+lane, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.t = t
				wanted, counted := 50, 0
				if name == "update-and-signal" {
					wanted = 10 // sending again takes the client a while
				}
				most := wanted + wanted/2
				for i := 0; counted < wanted; i++ {
					if i == most {
						t.Fatalf("of %d closing tasks %d were thrown away, want %d", i, counted, wanted)
					}
					inv := invocation(fmt.Sprintf("%s-%s-%d", name, lane, i), toolID, `{"text":"hello"}`)
					held := gates.hold(inv.ToolCallID)
					call := w.start(inv)
					receive(t, held.reached)
					settled, ran := w.record(inv), effects.of(inv.ToolCallID)
					if settled.Result == nil {
						t.Fatal("the workflow closes before its record is settled")
					}
					after := send(&w, call)
					close(held.release)
					r := w.result(call)
					wantText(t, r, "hello")
					if after != nil {
						after()
					}
					// In the local lane a busy machine may have run it again before it settled.
					if n := effects.of(inv.ToolCallID); n != ran || n > 1 && lane == "regular" {
						t.Errorf("%s: the tool ran %d times, and %d before the closing task", inv.ToolCallID, n, ran)
					}
					record := w.record(inv)
					if !same(r, *settled.Result) || asJSON(record) != asJSON(settled) {
						t.Errorf("%s ended with %+v and the record %+v; settled was %+v", inv.ToolCallID, r, record, settled)
					}
					if status := w.describe(call.WorkflowID).GetWorkflowExecutionInfo().GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
						t.Errorf("%s is %s", inv.ToolCallID, status)
					}
					if name == "update" || w.unhandled(call.WorkflowID) > 0 {
						counted++
					}
				}
			})
		}
	}
}

// inTime fails unless a message was taken, or came too late: a task that is held for longer than it has is given to the worker again, and
// closes the call. Such a one does not count.
func (w *world) inTime(err error) {
	w.t.Helper()
	var gone *serviceerror.NotFound
	if err != nil && !errors.Is(err, pawl.ErrSettled) && !errors.As(err, &gone) {
		w.t.Fatal(err)
	}
}

// decideMeanwhile sends a decision as an update and returns when the server has it; late waits for the answer.
func (w *world) decideMeanwhile(call *pawl.Call) (late func() (toolspec.Answer, error)) {
	w.t.Helper()
	d := approval(toolspec.ApprovalID(call.InvocationID, 1), ann)
	id := w.updateID(d)
	if w.hasUpdate(call.WorkflowID, id) {
		w.t.Fatalf("the server has the update %s before it is sent", id)
	}
	type reply struct {
		answer toolspec.Answer
		err    error
	}
	replies := make(chan reply, 1)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	go func() {
		defer cancel()
		answer, err := w.pawl.Decide(ctx, call.WorkflowID, d)
		replies <- reply{answer, err}
	}()
	w.until(func() bool { return len(replies) > 0 || w.hasUpdate(call.WorkflowID, id) }, "the server has the update")
	return func() (toolspec.Answer, error) {
		r := receive(w.t, replies)
		return r.answer, r.err
	}
}

// updateID is the id that Pawl's client gives the update of a decision.
func (w *world) updateID(d toolspec.Decision) string {
	w.t.Helper()
	id, err := schema.Digest([]byte(asJSON(d)))
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// hasUpdate reports whether the server has an update, though no worker may have seen it.
func (w *world) hasUpdate(workflowID, updateID string) bool {
	w.t.Helper()
	_, err := w.temporal.WorkflowService().PollWorkflowExecutionUpdate(w.t.Context(), &workflowservice.PollWorkflowExecutionUpdateRequest{
		Namespace:  w.namespace,
		UpdateRef:  &updatepb.UpdateRef{WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflowID}, UpdateId: updateID},
		WaitPolicy: &updatepb.WaitPolicy{LifecycleStage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED},
	})
	var unknown *serviceerror.NotFound
	if err != nil && !errors.As(err, &unknown) {
		w.t.Fatal(err)
	}
	return err == nil
}
