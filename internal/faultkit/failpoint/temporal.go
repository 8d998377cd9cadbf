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
)

// Dial puts the trap on either side of what a worker answers to Temporal. After
// means that the server has the answer and the worker does not know it.
func (t *Trap) Dial() grpc.DialOption {
	tasks := &firstTasks{tokens: map[string]bool{}}
	return grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		if isPoll(request) {
			err := t.polls.run(ctx, conn, func(ctx context.Context) error { return invoke(ctx, method, request, reply, conn, options...) })
			tasks.learn(reply)
			return err
		}
		before, after := tasks.pointsOf(request)
		for _, p := range before {
			t.Hit(p)
		}
		err := invoke(ctx, method, request, reply, conn, options...)
		if err != nil {
			if _, ok := request.(*workflowservice.RespondActivityTaskCompletedRequest); ok {
				fmt.Fprintf(t.log, "failpoint: the answer of an attempt was refused: %s\n", status.Code(err))
			}
			return err
		}
		for _, p := range after {
			t.Hit(p)
		}
		return nil
	})
}

// firstTasks knows the tokens of workflow tasks before which no other task of
// their call was completed.
type firstTasks struct {
	mu     sync.Mutex
	tokens map[string]bool
}

func (f *firstTasks) learn(reply any) {
	task, ok := reply.(*workflowservice.PollWorkflowTaskQueueResponse)
	if ok && len(task.GetTaskToken()) > 0 && task.GetPreviousStartedEventId() == 0 && task.GetQuery() == nil {
		f.mu.Lock()
		f.tokens[string(task.GetTaskToken())] = true
		f.mu.Unlock()
	}
}

// pointsOf says between which points a request stands. The first task of a call
// may be its last one, too.
func (f *firstTasks) pointsOf(request any) (before, after []Point) {
	switch r := request.(type) {
	case *workflowservice.RespondActivityTaskCompletedRequest:
		return []Point{AnswerBefore}, []Point{AnswerAfter}
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		f.mu.Lock()
		first := f.tokens[string(r.GetTaskToken())]
		f.mu.Unlock()
		if first {
			before, after = append(before, TaskBefore), append(after, TaskAfter)
		}
		if slices.ContainsFunc(r.GetCommands(), closes) {
			before, after = append(before, CloseBefore), append(after, CloseAfter)
		}
	}
	return before, after
}

func closes(c *commandpb.Command) bool {
	return c.GetCommandType() == enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION
}
