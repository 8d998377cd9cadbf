package devstack_test

import (
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack"
)

func TestAWorkflowSurvivesKillAndRestart(t *testing.T) {
	t.Parallel()
	temporal := startTemporal(t, devstack.TemporalOptions{FileStore: true, SearchAttributes: []string{"PawlTenant"}})
	address := temporal.Address()
	run, err := dial(t, address).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "survivor", TaskQueue: "nobody-listens"}, "Anything")
	if err != nil {
		t.Fatal(err)
	}
	if err := temporal.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := temporal.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if temporal.Address() != address {
		t.Errorf("its address changed from %s to %s", address, temporal.Address())
	}
	found, err := dial(t, address).DescribeWorkflowExecution(t.Context(), "survivor", run.GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	if status := found.GetWorkflowExecutionInfo().GetStatus(); status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("the workflow is %s", status)
	}
}

func TestPersistentStateIsTakenUpAgainAndHasOneOwner(t *testing.T) {
	t.Parallel()
	options := devstack.TemporalOptions{Dir: t.TempDir(), Persist: true, UI: true, SearchAttributes: []string{"PawlTenant"}}
	first := startTemporal(t, options)
	if _, err := dial(t, first.Address()).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody-listens"}, "Anything"); err != nil {
		t.Fatal(err)
	}
	stop(t, first)

	second := startTemporal(t, options)
	if second.Address() != first.Address() || second.UIAddress() != first.UIAddress() {
		t.Errorf("the server is at %s and %s now, and was at %s and %s", second.Address(), second.UIAddress(), first.Address(), first.UIAddress())
	}
	if _, err := dial(t, second.Address()).DescribeWorkflowExecution(t.Context(), "kept", ""); err != nil {
		t.Error(err)
	}
	_, err := devstack.StartTemporal(t.Context(), options)
	if err == nil || !strings.Contains(err.Error(), "in use by another pawl") {
		t.Errorf("a second owner got %v", err)
	}
}
