package devstacktest

import (
	"context"
	"errors"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

// namespaceTimeout bounds the wait for a new namespace.
const namespaceTimeout = 90 * time.Second

// Namespace registers the namespace of a client with keywords as search attributes. It waits until
// the server knows both, so that workflows can start. Tests with their own workers need a namespace
// each, because all workers use the same task queue.
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
		TaskQueue: "nobody", TypedSearchAttributes: temporal.NewSearchAttributes(values...),
	}, "Probe")
	if err != nil {
		return err
	}
	return c.TerminateWorkflow(ctx, run.GetID(), "", "the namespace works")
}
