package pawlflow

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// Call is a call that a workflow has started.
type Call struct {
	inv   toolspec.Invocation
	child workflow.ChildWorkflowFuture
	// refused is the result of a call that did not start, or nil.
	refused *toolspec.Result
	// joined is the value of IsJoined, which Result sets; nil for a call that did not start.
	joined *bool
}

// Start starts a call as a child workflow and does not wait for the result. A call that exists is not started
// again: Result returns its result. No call starts if a worker would refuse the input, or if ctx is cancelled:
// Result then returns the failure.
//
// If ctx is cancelled later, the call is asked to stop, and Result still returns the result of the call. If the
// workflow ends in any way or continues as new, Temporal asks its open calls to stop, because nobody waits for
// their results any more.
func Start(ctx workflow.Context, inv toolspec.Invocation) Call {
	if refused := check(ctx, inv); refused != nil {
		return Call{inv: inv, refused: refused}
	}
	if ctx.Err() != nil {
		return Call{inv: inv, refused: refuse(inv, toolspec.Failure(toolspec.CodeCancelled, "", nil))}
	}
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: inv.Identity().WorkflowID(),
		TaskQueue:  toolspec.TaskQueue,
		// The loss of a worker delays the call no longer than the workflow that waits for the call.
		WorkflowTaskTimeout:   min(workflow.GetInfo(ctx).WorkflowTaskTimeout, toolspec.TaskTimeout),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		// The result of the call is the result of the workflow, also after a cancel.
		WaitForCancellation: true,
		// Without the cancel, a call that waits for a person could take effect days after its caller has ended.
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:     inv.ToolID + " for " + inv.Context.TenantID,
		Priority:          temporal.Priority{FairnessKey: inv.Context.TenantID},
	}), toolspec.WorkflowType, inv)
	return Call{inv: inv, child: child, joined: new(bool)}
}

// WorkflowID returns the id of the workflow of the call.
func (c Call) WorkflowID() string { return c.inv.Identity().WorkflowID() }

// InvocationID returns the id of the call in the record.
func (c Call) InvocationID() string { return c.inv.Identity().InvocationID() }

// IsJoined reports whether Result got the result from an activity, because the call existed before Start. Everybody with access to
// the namespace can complete an activity, and the workflow cannot tell such an answer from the answer of a worker.
func (c Call) IsJoined() bool { return c.joined != nil && *c.joined }

// Result waits for the result. A call that ends without a value has a result with a code, and the error is nil:
// conflict for a call under the same id with another input, and outcome_unknown for a call whose workflow was
// terminated or failed. An error says that Temporal could not start or find the call.
func (c Call) Result(ctx workflow.Context) (toolspec.Result, error) {
	if c.refused != nil {
		return *c.refused, nil
	}
	var result toolspec.Result
	err := c.child.Get(ctx, &result)
	var alreadyStarted *temporal.ChildWorkflowExecutionAlreadyStartedError
	var closed *temporal.ChildWorkflowExecutionError
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &alreadyStarted):
		*c.joined = true
		return c.join(ctx)
	case errors.As(err, &closed):
		// The record may say more later, but the workflow cannot know whether the tool took effect.
		result = toolspec.Failure(toolspec.CodeOutcomeUnknown, "", &toolspec.Details{Cause: "the workflow closed without a result"})
		result.ToolCallID, result.InvocationID = c.inv.ToolCallID, c.InvocationID()
		// An input that passed check has a digest. Another digest at a replay would change no command of this function.
		result.InputDigest, _ = hydrate.InputDigest(c.inv) //workflowcheck:ignore
		return result, nil
	case ctx.Err() != nil && temporal.IsCanceledError(err):
		// The workflow was cancelled in the same moment, and the start was withdrawn.
		return *refuse(c.inv, toolspec.Failure(toolspec.CodeCancelled, "", nil)), nil
	default:
		return toolspec.Result{}, fmt.Errorf("pawlflow: call %s: %w", c.WorkflowID(), err)
	}
}

// Invoke starts a call and waits for its result. See Start and Call.Result.
func Invoke(ctx workflow.Context, inv toolspec.Invocation) (toolspec.Result, error) {
	return Start(ctx, inv).Result(ctx)
}
