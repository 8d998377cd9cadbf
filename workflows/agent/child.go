package agent

import (
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// runAgent starts the run of an agent for a call of pawlagent.RunTool, and returns when that run has ended. The activity that stores
// the answers reads the result of that run from the record, and ends a run that has no result.
func (r *run) runAgent(ctx workflow.Context, toolCallID, invocationID string) {
	if r.checkStop(ctx) != nil {
		return
	}
	childRun := contract.AgentRun{TenantID: r.open.Run.TenantID, RunID: pawlagent.ChildRunID(invocationID)}
	for i := range r.state.Calls {
		if r.state.Calls[i].InvocationID == invocationID {
			r.state.Calls[i].AgentRunID = childRun.RunID
		}
	}
	id := pawlagent.WorkflowID(childRun.TenantID, childRun.RunID)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             toolspec.TaskQueue,
		WorkflowTaskTimeout:   pawlagent.TaskTimeout,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         "agent of " + r.open.Run.RunID + " for " + childRun.TenantID,
	}), pawlagent.WorkflowType, pawlagent.Input{
		Parent:  &pawlagent.Parent{RunID: r.open.Run.RunID, ToolCallID: toolCallID},
		Context: toolspec.Context{TenantID: childRun.TenantID, RunID: childRun.RunID},
	})
	ended := false
	workflow.Go(steps.Disconnected(ctx), func(ctx workflow.Context) {
		// Wait for the start, because Temporal delivers no signal to a run that has not started.
		_ = child.GetChildWorkflowExecution().Get(ctx, nil)
		if workflow.Await(ctx, func() bool { return r.interrupted || ended }) == nil && !ended {
			_ = workflow.SignalExternalWorkflow(ctx, id, "", pawlagent.InterruptName, nil).Get(ctx, nil)
		}
	})
	err := child.Get(ctx, nil)
	var alreadyStarted *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &alreadyStarted) {
		r.joinAgent(ctx, childRun)
	}
	ended = true
}

// joinAgent waits for the end of a run that this workflow started before the workflow was reset. It waits with an activity,
// because a workflow can wait as a parent only for workflows that it has started since the reset. If ctx is cancelled,
// joinAgent cancels the other run and waits for its end.
func (r *run) joinAgent(ctx workflow.Context, childRun contract.AgentRun) {
	id := pawlagent.WorkflowID(childRun.TenantID, childRun.RunID)
	options := contract.JoinOptions(id)
	if _, err := steps.Regular(ctx, contract.AgentJoin, contract.AgentJoinIn{Run: childRun}, options); err == nil || ctx.Err() == nil {
		return
	}
	ctx = steps.Disconnected(ctx)
	_ = workflow.RequestCancelExternalWorkflow(ctx, id, "").Get(ctx, nil)
	_, _ = steps.Regular(ctx, contract.AgentJoin, contract.AgentJoinIn{Run: childRun}, options)
}
