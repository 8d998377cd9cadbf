package takeovers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// closings holds back the result of the workflow task that closes a call, between the worker and the server. If a message for the call arrives meanwhile, the
// server discards the task and repeats it.
type closings struct {
	mu   sync.Mutex
	held map[string]*closing // by toolCallId
}

// closing is one such task. reached is closed when the task is held back, and the task goes on when release is closed.
type closing struct{ reached, release chan struct{} }

// hold holds back the next closing task of a call.
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

// take returns the closing for a task, if the task is to be held back. It does so once.
func (c *closings) take(task *workflowservice.RespondWorkflowTaskCompletedRequest) *closing {
	var result toolspec.Result
	for _, command := range task.GetCommands() {
		// Only the command that completes the workflow has a result. Without one the toolCallId is empty, and no task is held back.
		_ = converter.GetDefaultDataConverter().FromPayloads(command.GetCompleteWorkflowExecutionCommandAttributes().GetResult(), &result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held[result.ToolCallID]
	delete(c.held, result.ToolCallID)
	return held
}

// intercept is an interceptor of the connection of the worker to Temporal.
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

// unhandled counts the tasks that the server discarded because a message had arrived in between.
func unhandled(w *e2etest.World, workflowID string) (n int) {
	w.T.Helper()
	for _, e := range w.History(workflowID, "").GetEvents() {
		if e.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
			n++
		}
	}
	return n
}

// TestClosingTask: a message that arrives while the closing task is held back changes nothing. The record is settled by then, and the repeated task answers
// from it. There is one effect and one result, and the sender of a decision gets the answer that it came too late.
func TestClosingTask(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	var gates closings
	w.WorkWith(w.Intercepted(gates.intercept), worker.Tools(
		e2etest.Tool("test__fast", effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
	))
	for name, send := range map[string]func(w *e2etest.World, call *pawl.Call) (after func()){
		"decide": func(w *e2etest.World, call *pawl.Call) func() {
			d := e2etest.Approving(toolspec.ApprovalID(call.InvocationID, 1), e2etest.Ann)
			inTime(w, w.Temporal.SignalWorkflow(w.T.Context(), call.WorkflowID, "", toolspec.DecideName, d))
			return nil
		},
		"recheck": func(w *e2etest.World, call *pawl.Call) func() {
			inTime(w, w.Pawl.Recheck(w.T.Context(), call.WorkflowID))
			return nil
		},
		"cancel": func(w *e2etest.World, call *pawl.Call) func() {
			inTime(w, w.Pawl.Cancel(w.T.Context(), call.WorkflowID))
			return nil
		},
		// The closing task ends the workflow, so the server cannot deliver the update, and the sender gets the error that the call is settled.
		"update": func(w *e2etest.World, call *pawl.Call) func() {
			late := decideMeanwhile(w, call)
			return func() {
				answer, err := late()
				// If the task was held back for longer than its timeout, the server has given it up, and the next task had the update.
				again := e2etest.CountEvents(w.History(call.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) > 0
				if !errors.Is(err, pawl.ErrSettled) && (!again || err != nil || answer.Counted || answer.Reason != "the call is settled") {
					w.T.Errorf("a decision in the closing task: %+v and %v, want ErrSettled", answer, err)
				}
			}
		},
		// Because of the signal the server repeats the task. Either the repeated task has the update, and its handler answers before the workflow closes. Or the
		// server has dropped the update with the discarded task, and the client finds the call settled when it sends the update again.
		"update-and-signal": func(w *e2etest.World, call *pawl.Call) func() {
			late := decideMeanwhile(w, call)
			inTime(w, w.Pawl.Recheck(w.T.Context(), call.WorkflowID))
			return func() {
				answer, err := late()
				if !errors.Is(err, pawl.ErrSettled) && (err != nil || answer.Counted || answer.Reason != "the call is settled") {
					w.T.Errorf("a decision in the closing task that runs again: %+v and %v, want one that comes too late", answer, err)
				}
			}
		},
	} {
		for lane, toolID := range map[string]string{"local": "test__fast", "regular": "test__send"} {
			t.Run(name+"/"+lane, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.T = t
				const wanted, most = 10, 15
				counted := 0
				for i := 0; counted < wanted; i++ {
					if i == most {
						t.Fatalf("of %d closing tasks %d were thrown away, want %d", i, counted, wanted)
					}
					inv := e2etest.Invocation(fmt.Sprintf("%s-%s-%d", name, lane, i), toolID, `{"text":"hello"}`)
					held := gates.hold(inv.ToolCallID)
					call := w.Start(inv)
					e2etest.Receive(t, held.reached)
					settled, ran := w.Record(inv), effects.Of(inv.ToolCallID)
					if settled.Result == nil {
						t.Fatal("the workflow closes before its record is settled")
					}
					after := send(&w, call)
					close(held.release)
					r := w.Result(call)
					e2etest.WantText(t, r, "hello")
					if after != nil {
						after()
					}
					// On a busy machine a tool in the local lane may have run again before the call was settled.
					if n := effects.Of(inv.ToolCallID); n != ran || n > 1 && lane == "regular" {
						t.Errorf("%s: the tool ran %d times, and %d before the closing task", inv.ToolCallID, n, ran)
					}
					record := w.Record(inv)
					if !e2etest.SameResult(r, *settled.Result) || e2etest.AsJSON(record) != e2etest.AsJSON(settled) {
						t.Errorf("%s ended with %+v and the record %+v; settled was %+v", inv.ToolCallID, r, record, settled)
					}
					if status := w.Describe(call.WorkflowID).GetWorkflowExecutionInfo().GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
						t.Errorf("%s is %s", inv.ToolCallID, status)
					}
					if name == "update" || unhandled(&w, call.WorkflowID) > 0 {
						counted++
					}
				}
			})
		}
	}
}

// inTime fails unless a message was accepted or came too late. A task that is held back for longer than its timeout is repeated and closes the call, and then
// the message comes too late.
func inTime(w *e2etest.World, err error) {
	w.T.Helper()
	var gone *serviceerror.NotFound
	if err != nil && !errors.Is(err, pawl.ErrSettled) && !errors.As(err, &gone) {
		w.T.Fatal(err)
	}
}

// decideMeanwhile sends a decision as an update and returns when the server has the update. late waits for the answer.
func decideMeanwhile(w *e2etest.World, call *pawl.Call) (late func() (toolspec.Answer, error)) {
	w.T.Helper()
	d := e2etest.Approving(toolspec.ApprovalID(call.InvocationID, 1), e2etest.Ann)
	id := w.UpdateID(d)
	if w.HasUpdate(call.WorkflowID, id) {
		w.T.Fatalf("the server has the update %s before it is sent", id)
	}
	type reply struct {
		answer toolspec.Answer
		err    error
	}
	replies := make(chan reply, 1)
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	go func() {
		defer cancel()
		answer, err := w.Pawl.Decide(ctx, call.WorkflowID, d)
		replies <- reply{answer, err}
	}()
	w.Until(func() bool { return len(replies) > 0 || w.HasUpdate(call.WorkflowID, id) }, "the server has the update")
	return func() (toolspec.Answer, error) {
		r := e2etest.Receive(w.T, replies)
		return r.answer, r.err
	}
}
