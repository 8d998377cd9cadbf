package reconcile

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// page is how many calls one statement or one request to Temporal reads.
const page = 200

func (c *comparison) list(ctx context.Context, query string, token []byte) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	listed, err := c.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: page, Query: query, NextPageToken: token})
	if err != nil {
		return nil, app.ExplainTemporalError(ctx, c.Config.Temporal, err)
	}
	return listed, nil
}

// listedCalls compares each run of a call that Temporal lists with the record. It finds calls that the record does not
// have, and settled calls whose workflow goes on. openCalls compares the calls that are open in the record.
func (c *comparison) listedCalls(ctx context.Context) error {
	return c.each(ctx, "WorkflowType = '"+toolspec.WorkflowType+"'", func(ctx context.Context, runs []*workflow.WorkflowExecutionInfo) error {
		c.out.Listed += len(runs)
		ids := make([]string, len(runs))
		for i, r := range runs {
			ids[i] = r.GetExecution().GetWorkflowId()
		}
		recorded, err := c.Store.RecordedCalls(ctx, ids)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if settled, found := recorded[listedID(r)]; found && !settled {
				c.runIDs[listedID(r)] = append(c.runIDs[listedID(r)], r.GetExecution().GetRunId())
			}
		}
		return forEach(ctx, c, runs, listedID, func(ctx context.Context, r *workflow.WorkflowExecutionInfo) error {
			settled, found := recorded[r.GetExecution().GetWorkflowId()]
			switch {
			case !found && c.lostRecords():
				return c.lostCall(ctx, r)
			case settled && r.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
				return c.behind(ctx, r)
			}
			return nil
		})
	})
}

// behind reports a workflow that goes on although its call is settled. With --mend it sends a recheck: the workflow
// then reads the record, and ends with the recorded result.
func (c *comparison) behind(ctx context.Context, listed *workflow.WorkflowExecutionInfo) error {
	workflowID, runID := listed.GetExecution().GetWorkflowId(), listed.GetExecution().GetRunId()
	info, _, err := c.read.describe(ctx, workflowID, runID)
	if err != nil || info == nil || !isRunning(info.GetStatus()) {
		return err
	}
	f := finding{Kind: kindBehind, WorkflowID: workflowID, Text: "the call is settled, and its workflow goes on; it ends when workers start, with the recorded result"}
	if _, onPawlQueue := toolspec.PoolOf(info.GetTaskQueue()); !onPawlQueue {
		c.out.count(&c.out.Strangers)
		return nil
	}
	t, found, err := c.read.read(ctx, workflowID, runID, nil)
	if err != nil || !found || t.rechecked { // with a recheck, the workflow ends when workers start
		return err
	}
	if c.mend {
		if err := c.recheck(ctx, workflowID); err != nil {
			return err
		}
		f.Mended = true
	}
	c.out.add(f)
	return nil
}

// lostCall reports a call that the record does not have, if the tool of the call may have run, if its workflow goes on, or
// if its input cannot be read. With --older both, each call that goes on counts as a call whose tool may have run. With
// --mend, lostCall records such a call with the result outcome_unknown. To any other call that goes on it sends a recheck,
// and a worker then records the call again.
func (c *comparison) lostCall(ctx context.Context, listed *workflow.WorkflowExecutionInfo) error {
	workflowID, runID := listed.GetExecution().GetWorkflowId(), listed.GetExecution().GetRunId()
	// Visibility may be older than the state of the workflow.
	info, pending, err := c.read.describe(ctx, workflowID, runID)
	if err != nil || info == nil {
		return err
	}
	t, found, err := c.read.read(ctx, workflowID, runID, pending)
	if err != nil || !found {
		return err
	}
	if !t.onPawlQueue || t.workflowType != toolspec.WorkflowType {
		c.out.count(&c.out.Strangers)
		return nil
	}
	if t.unread {
		return errUnread
	}
	running := isRunning(info.GetStatus())
	// A call without an attempt needs no change if it has ended, or if it goes on in another run, which is listed too.
	moved := listed.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	if t.attempts() == 0 && (moved || !running && !t.taskUnfinished) {
		c.out.count(&c.out.Harmless)
		return nil
	}
	if t.input == nil {
		return errUnread
	}
	inv, fault := hydrate.Decode(t.input)
	if fault != nil || inv.Identity().WorkflowID() != workflowID {
		c.out.count(&c.out.Strangers)
		return nil //nolint:nilerr // a worker refuses such a workflow, so it is counted
	}
	attempts := t.attempts()
	if t.taskUnfinished {
		runs, err := c.runsInTasks(ctx, inv.ToolID, t.lane)
		if err != nil {
			return err
		}
		if runs {
			attempts++
		}
	}
	switch {
	case attempts == 0 && !running:
		c.out.count(&c.out.Harmless)
		return nil
	case attempts == 0 && c.older == olderPostgres && t.rechecked:
		return nil // a worker records the call again
	case attempts == 0 && c.older == olderPostgres: // if Temporal is older too, it may lack an attempt as well
		return c.unrecordedCall(ctx, inv.Identity())
	default:
		return c.unknownCall(ctx, inv, info, record.LostCall{RunID: runID, StartedAt: t.startedAt, Attempts: attempts})
	}
}

// unrecordedCall reports a call that goes on, that has no attempt, and that the record does not have.
func (c *comparison) unrecordedCall(ctx context.Context, id toolspec.Identity) (err error) {
	f := finding{
		Kind: kindUnrecorded, WorkflowID: id.WorkflowID(), InvocationID: id.InvocationID(),
		Text: "the call goes on, Temporal has no attempt of it, and the record does not know it; a worker records it again",
	}
	if c.mend {
		err = c.recheck(ctx, f.WorkflowID)
		f.Mended = err == nil
	}
	c.out.add(f)
	return err
}

// unknownCall reports a call whose tool may have run, and that the record does not have. lost has its run, start and attempts.
func (c *comparison) unknownCall(ctx context.Context, inv toolspec.Invocation, info *workflow.WorkflowExecutionInfo, lost record.LostCall) (err error) {
	f := finding{
		Kind: kindCall, WorkflowID: inv.Identity().WorkflowID(), InvocationID: inv.Identity().InvocationID(),
		Text: fmt.Sprintf("a tool may have run, %d times as far as Temporal tells, and the record does not know the call; its workflow is %s", lost.Attempts, status(info.GetStatus())),
	}
	if !c.mend {
		c.out.add(f)
		return nil
	}
	lost.Invocation, lost.Namespace, lost.EndedAt = inv, c.Namespace(), time.Now()
	if lost.InputDigest, err = hydrate.InputDigest(inv); err != nil {
		return err
	}
	f.Mended, err = c.Store.RecordLost(ctx, lost)
	if err != nil || !f.Mended {
		return err // another run of the call was recorded before
	}
	f.Outcome = string(toolspec.CodeOutcomeUnknown)
	if isRunning(info.GetStatus()) { // the workflow reads the record, and ends
		err = c.recheck(ctx, f.WorkflowID)
	}
	c.out.add(f)
	return err
}

// runsInTasks reports whether a tool that must not be repeated may have run inside a workflow task that did not
// complete: the history has no trace of such an attempt, and only the claimed lane makes one. lane is the lane in the
// history of the call, or "" if the history has none. If lane does not exclude it, the newest plan of the tool in the
// record decides; without such a plan the answer is true.
func (c *comparison) runsInTasks(ctx context.Context, toolID string, lane hook.Lane) (bool, error) {
	if lane != "" && lane != hook.ClaimedLane {
		return false, nil
	}
	c.runsInTasksMu.Lock()
	defer c.runsInTasksMu.Unlock()
	if runs, found := c.runsInTasksOf[toolID]; found {
		return runs, nil
	}
	runs, err := c.Store.RunsInTasks(ctx, toolID)
	if err == nil {
		c.runsInTasksOf[toolID] = runs
	}
	return runs, err
}

// isRunning reports whether a workflow goes on. A run that continued as new counts as running, because its workflow goes on in the next run. A
// status that this program does not know counts as running too.
func isRunning(s enumspb.WorkflowExecutionStatus) bool {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
		enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return false
	default:
		return true
	}
}

func status(s enumspb.WorkflowExecutionStatus) string {
	if isRunning(s) {
		return "running"
	}
	return map[enumspb.WorkflowExecutionStatus]string{
		enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED: "completed", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED: "failed",
		enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED: "cancelled", enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED: "terminated",
		enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT: "timed out",
	}[s]
}
