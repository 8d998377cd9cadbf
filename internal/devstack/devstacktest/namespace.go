package devstacktest

import (
	"context"
	"errors"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// namespaceTimeout bounds the wait for a new namespace.
	namespaceTimeout = 90 * time.Second
	// probeTimeout bounds the wait for the task of one probe.
	probeTimeout = 10 * time.Second
	probeQueue   = "probe"
)

// Namespace registers the namespace of a client with keywords as search attributes. It waits until
// each service of the server knows both, so that workflows run. Tests with their own workers need a
// namespace each, because all workers use the same task queue.
func Namespace(t testing.TB, c client.Client, name string, keywords ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), namespaceTimeout)
	defer cancel()
	if _, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil && !errors.As(err, new(*serviceerror.NamespaceAlreadyExists)) { // the server has made it, and its answer was lost
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx, c, name, keywords)
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

// probe starts a workflow and takes its task. Each service of the server has its own list of namespaces, and reads the ones that it does
// not know yet from the store. If this read fails with an error, the server takes the namespace for a deleted one, and drops the task for
// good: the workflow then waits forever. A task that arrives shows that the services know the namespace.
func probe(ctx context.Context, c client.Client, name string, keywords []string) error {
	attributes, values := map[string]enumspb.IndexedValueType{}, []temporal.SearchAttributeUpdate{}
	for _, k := range keywords {
		attributes[k] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		values = append(values, temporal.NewSearchAttributeKeyKeyword(k).ValueSet("probe"))
	}
	if len(keywords) > 0 {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: name, SearchAttributes: attributes})
		var exists *serviceerror.AlreadyExists
		if err != nil && !errors.As(err, &exists) {
			return err
		}
	}
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		TaskQueue: probeQueue, TypedSearchAttributes: temporal.NewSearchAttributes(values...),
	}, "Probe")
	if err != nil {
		return err
	}
	taken := takeTask(ctx, c, name)
	return errors.Join(taken, c.TerminateWorkflow(ctx, run.GetID(), "", "the namespace works"))
}

// takeTask takes a task of a probe.
func takeTask(ctx context.Context, c client.Client, name string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	task, err := c.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: name, TaskQueue: &taskqueue.TaskQueue{Name: probeQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}, Identity: "probe",
	})
	if err == nil && len(task.GetTaskToken()) == 0 {
		err = errors.New("the task of a workflow does not arrive")
	}
	return err
}
