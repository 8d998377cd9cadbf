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
	if r.stopped(ctx) != nil {
		return
	}
	of := contract.AgentRun{TenantID: r.open.Run.TenantID, RunID: pawlagent.ChildRunID(invocationID)}
	for i := range r.state.Calls {
		if r.state.Calls[i].InvocationID == invocationID {
			r.state.Calls[i].AgentRunID = of.RunID
		}
	}
	id := pawlagent.WorkflowID(of.TenantID, of.RunID)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             toolspec.TaskQueue,
		WorkflowTaskTimeout:   pawlagent.TaskTimeout,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         "agent of " + r.open.Run.RunID + " for " + of.TenantID,
	}), pawlagent.WorkflowType, pawlagent.Input{
		Parent:  &pawlagent.Parent{RunID: r.open.Run.RunID, ToolCallID: toolCallID},
		Context: toolspec.Context{TenantID: of.TenantID, RunID: of.RunID},
	})
	ended := false
	workflow.Go(steps.Disconnected(ctx), func(ctx workflow.Context) {
		// A run that has not started takes no signal.
		_ = child.GetChildWorkflowExecution().Get(ctx, nil)
		if workflow.Await(ctx, func() bool { return r.interrupted || ended }) == nil && !ended {
			_ = workflow.SignalExternalWorkflow(ctx, id, "", pawlagent.InterruptName, nil).Get(ctx, nil)
		}
	})
	err := child.Get(ctx, nil)
	var there *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &there) {
		r.joinAgent(ctx, of)
	}
	ended = true
}

// joinAgent waits for a run that exists already, because this workflow has started it before a reset. An activity waits, because a
// workflow can wait only for workflows that it has started itself.
func (r *run) joinAgent(ctx workflow.Context, of contract.AgentRun) {
	id := pawlagent.WorkflowID(of.TenantID, of.RunID)
	options := contract.JoinOptions(id)
	if _, err := steps.Regular(ctx, contract.AgentJoin, contract.AgentJoinIn{Run: of}, options); err == nil || ctx.Err() == nil {
		return
	}
	ctx = steps.Disconnected(ctx)
	_ = workflow.RequestCancelExternalWorkflow(ctx, id, "").Get(ctx, nil)
	_, _ = steps.Regular(ctx, contract.AgentJoin, contract.AgentJoinIn{Run: of}, options)
}
