package pawlflow

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// join waits for the result of a call that exists already: this workflow started it before a reset, or another
// program started it. An activity of Pawl's worker waits, and compares the input with the input of that call.
func (c Call) join(ctx workflow.Context) (toolspec.Result, error) {
	result, err := c.joinOnce(ctx, contract.JoinIn{Invocation: c.inv})
	if err != nil && ctx.Err() != nil {
		disconnected, _ := workflow.NewDisconnectedContext(ctx)
		result, err = c.joinOnce(disconnected, contract.JoinIn{Invocation: c.inv, Cancel: true})
	}
	if err != nil {
		return toolspec.Result{}, fmt.Errorf("pawlflow: join call %s: %w", c.WorkflowID(), err)
	}
	return result, nil
}

func (c Call) joinOnce(ctx workflow.Context, in contract.JoinIn) (result toolspec.Result, err error) {
	options := contract.JoinOptions(c.WorkflowID())
	options.TaskQueue = toolspec.TaskQueue
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.Join.Name(), in).Get(ctx, &result)
	return result, err
}
