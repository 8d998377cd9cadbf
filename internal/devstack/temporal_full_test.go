package devstack_test

import (
	"flag"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/internal/devstack"
)

// fullServer also runs the test of the full server, whose build takes many minutes the first time. `task bench-server` runs it.
var fullServer = flag.Bool("full-server", false, "run TestFullServer too")

// TestFullServer starts a workflow with a search attribute, and finds it after a kill of the server and one of its Postgres.
func TestFullServer(t *testing.T) {
	if !*fullServer {
		t.Skip("builds a Temporal server: go test ./internal/devstack -run TestFullServer -full-server -timeout 60m")
	}
	server := startTemporal(t, devstack.TemporalOptions{Full: true, SearchAttributes: []string{"PawlTenant"}})
	address := server.Address()
	attributes := temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword("PawlTenant").ValueSet("acme"))
	run, err := dial(t, address).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "survivor", TaskQueue: "nobody-listens", TypedSearchAttributes: attributes,
	}, "Anything")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Store().StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Store().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := dial(t, address).DescribeWorkflowExecution(t.Context(), "survivor", run.GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	if status := found.GetWorkflowExecutionInfo().GetStatus(); status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("the workflow is %s", status)
	}
	stop(t, server)
	if server.PID() != 0 || server.Store().PID() != 0 {
		t.Error("a server still runs after Stop")
	}
}
