package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/client"
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

// listedCalls compares the calls that Temporal has with the record. It finds calls that the record does not have, and settled calls whose
// workflow goes on. openCalls compares the calls that are open in the record.
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
				c.runs[listedID(r)] = append(c.runs[listedID(r)], r.GetExecution().GetRunId())
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

// behind reports a workflow that goes on although its call is settled. A recheck makes the workflow read the record, and end.
func (c *comparison) behind(ctx context.Context, listed *workflow.WorkflowExecutionInfo) error {
	workflowID, runID := listed.GetExecution().GetWorkflowId(), listed.GetExecution().GetRunId()
	info, _, err := c.read.describe(ctx, workflowID, runID)
	if err != nil || info == nil || !isRunning(info.GetStatus()) {
		return err
	}
	f := finding{Kind: kindBehind, WorkflowID: workflowID, Text: "the call is settled, and its workflow goes on; it ends when workers start, with the recorded result"}
	if _, pawls := toolspec.PoolOf(info.GetTaskQueue()); !pawls {
		c.out.count(&c.out.Strangers)
		return nil
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

// lostCall reports a call that the record does not have, if its tool may have run or its workflow goes on.
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
	if !t.pawls || t.workflowType != toolspec.WorkflowType {
		c.out.count(&c.out.Strangers)
		return nil
	}
	inv, fault := hydrate.Decode(t.input)
	f := finding{WorkflowID: workflowID}
	running := isRunning(info.GetStatus())
	// A call without an attempt needs no change if it has ended, or if it goes on in another run, which is listed too.
	moved := listed.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	switch {
	case t.attempts() == 0 && (moved || !running && !t.inTask):
		c.out.count(&c.out.Harmless)
		return nil
	case t.input == nil:
		f.Kind, f.Text = kindUnread, "its input cannot be read; with encrypted payloads the command needs the keys of the workers, and --skip leaves the workflow out"
		c.out.add(f)
		return nil
	case fault != nil || inv.Identity().WorkflowID() != workflowID:
		c.out.count(&c.out.Strangers)
		return nil //nolint:nilerr // a worker refuses such a workflow, so it is counted
	}
	f.InvocationID = inv.Identity().InvocationID()
	attempts := t.attempts()
	if t.inTask {
		runs, err := c.runsInTasks(ctx, inv.ToolID, t.lane)
		if err != nil {
			return err
		}
		if runs {
			attempts++
		}
	}
	if attempts == 0 && !running {
		c.out.count(&c.out.Harmless)
		return nil
	}
	// If Temporal is older too, it may lack an attempt as well.
	if attempts == 0 && c.older == olderPostgres {
		f.Kind, f.Text = kindUnrecorded, "the call goes on, Temporal has no attempt of it, and the record does not know it; a worker records it again"
		if c.mend {
			err = c.recheck(ctx, workflowID)
			f.Mended = err == nil
		}
		c.out.add(f)
		return err
	}
	f.Kind, f.Text = kindCall, fmt.Sprintf("a tool may have run, %d times as far as Temporal tells, and the record does not know the call; its workflow is %s", attempts, status(info.GetStatus()))
	if c.mend {
		digest, err := hydrate.InputDigest(inv)
		if err != nil {
			return err
		}
		f.Mended, err = c.Store.RecordLost(ctx, record.LostCall{
			Invocation: inv, RunID: runID, Namespace: c.Namespace(), InputDigest: digest, StartedAt: t.startedAt, EndedAt: time.Now(), Attempts: attempts,
		})
		if err != nil || !f.Mended {
			return err // another run of the call was recorded before
		}
		f.Outcome = string(toolspec.CodeOutcomeUnknown)
		if running { // the workflow reads the record, and ends
			err = c.recheck(ctx, workflowID)
		}
		c.out.add(f)
		return err
	}
	c.out.add(f)
	return nil
}

// runsInTasks reports whether the tool of a call may have run inside of a workflow task that did not complete, and must not be repeated. lane is the lane
// in the history. Without one the last recorded plan of the tool tells, and of a tool without a plan nobody knows it.
func (c *comparison) runsInTasks(ctx context.Context, toolID string, lane hook.Lane) (bool, error) {
	if lane != "" && lane != hook.ClaimedLane {
		return false, nil
	}
	c.tools.Lock()
	defer c.tools.Unlock()
	if runs, known := c.claimed[toolID]; known {
		return runs, nil
	}
	runs, err := c.Store.RunsInTasks(ctx, toolID)
	if err == nil {
		c.claimed[toolID] = runs
	}
	return runs, err
}

// openCalls compares the calls that are open in the record.
func (c *comparison) openCalls(ctx context.Context) error {
	at := upkeep.OpenPage{Namespace: c.Namespace(), Limit: page}
	for {
		calls, err := c.Store.OpenCalls(ctx, at)
		if err != nil || len(calls) == 0 {
			return err
		}
		ids := make([]string, len(calls))
		for i, call := range calls {
			ids[i] = call.InvocationID
		}
		known, err := c.Store.DispatchesOf(ctx, ids)
		if err != nil {
			return err
		}
		c.out.Open += len(calls)
		if err := forEach(ctx, c, calls, func(call upkeep.OpenCall) string { return call.WorkflowID }, func(ctx context.Context, call upkeep.OpenCall) error {
			return c.openCall(ctx, call, known[call.InvocationID])
		}); err != nil {
			return err
		}
		at.After = &calls[len(calls)-1]
	}
}

// openCall compares an open call with its workflow.
func (c *comparison) openCall(ctx context.Context, call upkeep.OpenCall, known record.Dispatched) error {
	if known.InvocationID == "" {
		return nil // the call is settled now
	}
	info, pending, err := c.read.describe(ctx, call.WorkflowID, "")
	if err != nil {
		return err
	}
	var lost []record.LostClaim
	var ended bool
	if c.lostRecords() && info != nil {
		if lost, ended, err = c.lostClaims(ctx, call, known, info.GetExecution().GetRunId(), pending); err != nil {
			return err
		}
	}
	running := info != nil && isRunning(info.GetStatus())
	f := finding{WorkflowID: call.WorkflowID, InvocationID: call.InvocationID}
	fence := info != nil && c.needsFence(known, running, ended)
	switch {
	case !running && info == nil:
		f.Kind, f.Text = kindEnded, "the call is open in the record, and Temporal has no workflow of it"
	case !running:
		f.Kind, f.Text = kindEnded, "the call is open in the record, and its workflow is "+status(info.GetStatus())
	case len(lost) > 0:
		f.Kind, f.Text = kindClaim, fmt.Sprintf("a tool may have run %d times of which the record does not know", len(lost))
	case fence:
		f.Kind, f.Text = kindUnsure, "a tool may have run without a trace; if the call would run it now, it ends with an unknown outcome"
	}
	if c.mend {
		if f.Mended, f.Outcome, err = c.mendCall(ctx, call, known, lost, fence, info); err != nil {
			return err
		}
	}
	if f.Kind != "" {
		c.out.add(f)
	}
	return nil
}

// needsFence reports whether a tool that must not be repeated may have run in an attempt that neither Temporal nor the record has: an attempt after
// both backups, or an attempt inside a workflow task that did not complete. Claims that Temporal has say nothing about such an attempt.
func (c *comparison) needsFence(known record.Dispatched, running, ended bool) bool {
	untraced := c.older == olderBoth && running || c.lostRecords() && known.Claimed && !ended
	return untraced && !known.Repeatable && !known.Fenced
}

// recheck makes the workflow of a call look at its record, as soon as a worker runs it. A workflow that has ended meanwhile needs nothing. A
// workflow that accepts no more signals, because it already got as many as the server accepts, looks at its record when it continues.
func (c *comparison) recheck(ctx context.Context, workflowID string) error {
	err := c.Client().Recheck(ctx, workflowID)
	if errors.Is(err, client.ErrSettled) || errors.Is(err, client.ErrNotFound) || errors.As(err, new(*serviceerror.InvalidArgument)) {
		return nil
	}
	return err
}

// lostClaims returns the claims of all runs of a call that the record does not have: after a reset, a run between the recorded run and the
// latest run may have made an attempt. ended is the field ended of the outline of the latest run, because only this run goes on.
func (c *comparison) lostClaims(ctx context.Context, call upkeep.OpenCall, known record.Dispatched, latest string, pending []*workflow.PendingActivityInfo) (lost []record.LostClaim, ended bool, err error) {
	has := map[int]bool{}
	for _, n := range known.Dispatches {
		has[n] = true
	}
	runs := []string{latest}
	// Visibility may not have the recorded run yet.
	for _, runID := range append([]string{call.RunID}, c.runs[call.WorkflowID]...) {
		if !slices.Contains(runs, runID) {
			runs = append(runs, runID)
		}
	}
	for _, runID := range runs {
		t, found, err := c.read.read(ctx, call.WorkflowID, runID, pending)
		if err != nil {
			return nil, false, err
		}
		pending = nil
		if !found || !t.pawls || t.workflowType != toolspec.WorkflowType {
			continue
		}
		if runID == latest {
			ended = t.ended
		}
		for _, claim := range t.claims {
			if !has[claim.Dispatch] {
				has[claim.Dispatch] = true
				lost = append(lost, claim)
			}
		}
	}
	return lost, ended, nil
}

// mendCall writes the missing parts of the record. It settles a call whose workflow has ended. Any other call continues when workers start.
func (c *comparison) mendCall(ctx context.Context, call upkeep.OpenCall, known record.Dispatched, lost []record.LostClaim, fence bool, info *workflow.WorkflowExecutionInfo) (mended bool, outcome string, err error) {
	epoch := call.Epoch
	if len(lost) > 0 {
		epoch, err = c.Store.Fence(ctx, c.Namespace(), call.InvocationID, epoch, lost)
	}
	if fence && err == nil {
		for _, claim := range lost {
			known.Dispatches = append(known.Dispatches, claim.Dispatch)
		}
		epoch, err = c.Store.FenceAll(ctx, c.Namespace(), known, epoch)
	}
	switch {
	case err != nil:
		return false, "", err
	case info != nil && isRunning(info.GetStatus()):
		if !c.lostRecords() {
			return true, "", nil
		}
		// An approval request of the call may be lost. A recheck makes the call look at its record.
		return true, "", c.recheck(ctx, call.WorkflowID)
	}
	cause, code := c.ending(info)
	swept, err := c.Store.Sweep(ctx, upkeep.SweepRow{
		InvocationID: call.InvocationID, Namespace: c.Namespace(), Epoch: epoch, RunID: call.RunID, Cause: cause, Code: code,
	})
	return swept != "", string(swept), err
}

// ending returns how a workflow has ended, and a code for its call. The code counts only if no claim says that the call may have had an effect. If the
// record was restored, it may lack claims: a workflow that completed, or that is gone, may have run a tool, so the outcome is unknown.
func (c *comparison) ending(info *workflow.WorkflowExecutionInfo) (upkeep.OwnerStatus, toolspec.Code) {
	unsure := func(code toolspec.Code) toolspec.Code {
		if c.lostRecords() {
			return toolspec.CodeOutcomeUnknown
		}
		return code
	}
	switch info.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return upkeep.OwnerTimedOut, toolspec.CodeTimeout
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return upkeep.OwnerTerminated, toolspec.CodeCancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return upkeep.OwnerCancelled, toolspec.CodeCancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return upkeep.OwnerFailed, toolspec.CodeInternal
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return upkeep.OwnerCompleted, unsure(toolspec.CodeInternal)
	default: // Temporal has no workflow of the call
		return upkeep.OwnerDeleted, unsure(toolspec.CodeCancelled)
	}
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
