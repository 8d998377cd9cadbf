package pawlflow_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/pawlflow"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestTurnStopsAfterAnError: after an error of one call of a turn, no other call starts, also in the same batch.
func TestTurnStopsAfterAnError(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	var started []string
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, inv toolspec.Invocation) (toolspec.Result, error) {
		started = append(started, inv.ToolCallID)
		return toolspec.Result{}, workflow.Await(ctx, func() bool { return false })
	}, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	env.RegisterActivityWithOptions(func(contract.JoinIn) (toolspec.Result, error) { return toolspec.Result{}, nil }, activity.RegisterOptions{Name: contract.Join.Name()})
	env.OnActivity(contract.Join.Name(), mock.Anything).Return(toolspec.Result{}, temporal.NewNonRetryableApplicationError("gone", "gone", nil))
	call := func(id string) pawlflow.Planned {
		return pawlflow.Planned{Invocation: toolspec.Invocation{ToolID: "test__read", ToolCallID: id, Args: []byte(`{}`), Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:one"}}, Same: -1}
	}
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		// The first call of the turn exists, and its result cannot be read.
		open, end := workflow.WithCancel(ctx)
		first := pawlflow.Start(open, call("a").Invocation)
		if err := workflow.Sleep(ctx, 1); err != nil {
			return err
		}
		_, err := pawlflow.Turn(ctx, []pawlflow.Planned{call("a"), call("b"), call("c")}, 1)
		end()
		_, _ = first.Result(ctx)
		return err
	})
	if err := env.GetWorkflowError(); err == nil || !slices.Equal(started, []string{"a"}) {
		t.Errorf("the calls %v have started, %v", started, err)
	}
}
