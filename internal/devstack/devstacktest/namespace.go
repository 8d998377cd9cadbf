package devstacktest

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// namespaceTimeout bounds the wait for a new namespace, which takes a moment.
const namespaceTimeout = time.Minute

// Namespace registers the namespace of a client and waits until the server has
// learned of it: workflows can be started there. Tests with workers of their
// own need one each, for all workers share a task queue.
func Namespace(t testing.TB, c client.Client, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), namespaceTimeout)
	defer cancel()
	if _, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx, c)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the namespace %s does not work: %v", name, err)
		case <-tick.C:
		}
	}
}

func probe(ctx context.Context, c client.Client) error {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "nobody"}, "Probe")
	if err != nil {
		return err
	}
	return c.TerminateWorkflow(ctx, run.GetID(), "", "the namespace works")
}
