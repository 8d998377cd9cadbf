package failpoint

import (
	"context"
	"fmt"
	"slices"
	"sync"

	commandpb "go.temporal.io/api/command/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// Dial returns an interceptor that hits the points before and after each answer of a worker to
// Temporal. At a point after, the server has the answer and the worker does not know it.
func (t *Trap) Dial() grpc.DialOption {
	return intercept(t, t.polls.run, func(err error) {
		fmt.Fprintf(t.log, "failpoint: the answer of an attempt was refused: %s\n", status.Code(err))
	})
}

// Dial returns an interceptor that asks at the points before and after each answer of a worker to
// Temporal.
func (r *Remote) Dial() grpc.DialOption {
	poll := func(ctx context.Context, _ *grpc.ClientConn, invoke func(context.Context) error) error {
		return invoke(ctx)
	}
	return intercept(r, poll, func(error) {})
}

// intercept returns the interceptor. poll wraps each request for a task. refused gets the error of
// an answer to an activity task that the server did not accept.
func intercept(b breaker, poll func(context.Context, *grpc.ClientConn, func(context.Context) error) error, refused func(error)) grpc.DialOption {
	tasks := &tasks{calls: map[string]string{}, first: map[string]bool{}}
	return grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		if isPoll(request) {
			err := poll(ctx, conn, func(ctx context.Context) error { return invoke(ctx, method, request, reply, conn, options...) })
			tasks.learn(reply)
			return err
		}
		call, before, after := tasks.pointsOf(request)
		for _, p := range before {
			b.hit(p, call)
		}
		err := invoke(ctx, method, request, reply, conn, options...)
		if err != nil {
			if _, ok := request.(*workflowservice.RespondActivityTaskCompletedRequest); ok {
				refused(err)
			}
			return err
		}
		for _, p := range after {
			b.hit(p, call)
		}
		return nil
	})
}

// tasks maps the task tokens that this process has received to their calls. An answer can be sent
// again, so no entry is removed.
type tasks struct {
	mu sync.Mutex
	// calls holds workflow ids by task token.
	calls map[string]string
	// first holds the tokens of the first workflow task of a run.
	first map[string]bool
}

func (t *tasks) learn(reply any) {
	switch task := reply.(type) {
	case *workflowservice.PollActivityTaskQueueResponse:
		t.note(task.GetTaskToken(), task.GetWorkflowExecution().GetWorkflowId(), false)
	case *workflowservice.PollWorkflowTaskQueueResponse:
		if task.GetQuery() == nil {
			t.note(task.GetTaskToken(), task.GetWorkflowExecution().GetWorkflowId(), task.GetPreviousStartedEventId() == 0)
		}
	}
}

func (t *tasks) note(token []byte, call string, first bool) {
	if len(token) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[string(token)] = call
	if first {
		t.first[string(token)] = true
	}
}

// pointsOf returns the call of a request, and the points before and after it. The first task of a
// call can also be its last.
func (t *tasks) pointsOf(request any) (call string, before, after []point.Name) {
	switch r := request.(type) {
	case *workflowservice.RespondActivityTaskCompletedRequest:
		call, _ = t.of(r.GetTaskToken())
		return call, []point.Name{point.AnswerBefore}, []point.Name{point.AnswerAfter}
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		call, first := t.of(r.GetTaskToken())
		if first {
			before, after = append(before, point.TaskBefore), append(after, point.TaskAfter)
		}
		if slices.ContainsFunc(r.GetCommands(), closes) {
			before, after = append(before, point.CloseBefore), append(after, point.CloseAfter)
		}
		return call, before, after
	}
	return "", nil, nil
}

func (t *tasks) of(token []byte) (call string, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[string(token)], t.first[string(token)]
}

func closes(c *commandpb.Command) bool {
	return c.GetCommandType() == enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION
}
