package devstacktest_test

import (
	"context"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// TestNamespaceHandsOutTasks: a namespace is ready after a task of a workflow has arrived. The task of the first probe does not arrive
// here, as if the server had dropped it.
func TestNamespaceHandsOutTasks(t *testing.T) {
	t.Parallel()
	probes, tasks := 0, 0
	intercept := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		start, isStart := request.(*workflowservice.StartWorkflowExecutionRequest)
		if isStart && probes == 0 {
			start.TaskQueue.Name = "nobody"
		}
		err := invoke(ctx, method, request, reply, conn, options...)
		if isStart && err == nil {
			probes++
		}
		if task, ok := reply.(*workflowservice.PollWorkflowTaskQueueResponse); ok && len(task.GetTaskToken()) > 0 {
			tasks++
		}
		return err
	}
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: devstacktest.Temporal(t), Namespace: "lost",
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(intercept)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	devstacktest.Namespace(t, c, "lost")
	if probes < 2 || tasks != 1 {
		t.Errorf("the namespace is ready after %d probes and %d tasks, want another probe and its task", probes, tasks)
	}
}
