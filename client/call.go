package client

import (
	"context"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/pawl-run/pawl/toolspec"
)

// isCall reports whether a workflow is a call. Any program in the namespace can start a workflow under the id of a
// call, so isCall checks its type and its task queue. The first Temporal run of a call is on the shared task
// queue. The workers there move the call to the task queue of a pool if only a pool has its tool, so a workflow on
// such a queue is a call only if its first Temporal run was on the shared one.
func (c *Client) isCall(ctx context.Context, w *workflowservice.DescribeWorkflowExecutionResponse) (bool, error) {
	info := w.GetWorkflowExecutionInfo()
	pool, known := toolspec.PoolOf(info.GetTaskQueue())
	switch {
	case !known || info.GetType().GetName() != toolspec.WorkflowType:
		return false, nil
	case pool == "":
		return true, nil
	}
	first, err := c.temporal.DescribeWorkflowExecution(ctx, info.GetExecution().GetWorkflowId(), info.GetFirstRunId())
	if isGone(err) {
		// Temporal has deleted the first Temporal run, so its task queue is unknown. This happens to a call that
		// waits for an approval for longer than the retention and then moves to a pool. Accepting the workflow is
		// safe enough: a program that makes its own workflow look like a call must know the id of the call before
		// the call starts, and delete the first Temporal run of its workflow.
		return true, nil
	}
	return first.GetWorkflowExecutionInfo().GetTaskQueue() == toolspec.TaskQueue, err
}
