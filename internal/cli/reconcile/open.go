package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/toolspec"
)

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
		recorded, err := c.Store.DispatchesOf(ctx, ids)
		if err != nil {
			return err
		}
		c.out.Open += len(calls)
		if err := forEach(ctx, c, calls, func(call upkeep.OpenCall) string { return call.WorkflowID }, func(ctx context.Context, call upkeep.OpenCall) error {
			return c.openCall(ctx, call, recorded[call.InvocationID])
		}); err != nil {
			return err
		}
		at.After = &calls[len(calls)-1]
	}
}

// openCall compares an open call with its workflow.
func (c *comparison) openCall(ctx context.Context, call upkeep.OpenCall, recorded record.Dispatched) error {
	if recorded.InvocationID == "" {
		return nil // the call is settled now
	}
	info, pending, err := c.read.describe(ctx, call.WorkflowID, "")
	if err != nil {
		return err
	}
	var lost []record.LostClaim
	var noMoreAttempts bool
	if c.lostRecords() && info != nil {
		if lost, noMoreAttempts, err = c.lostClaims(ctx, call, recorded, info.GetExecution().GetRunId(), pending); err != nil {
			return err
		}
	}
	running := info != nil && isRunning(info.GetStatus())
	f := finding{WorkflowID: call.WorkflowID, InvocationID: call.InvocationID}
	fence := info != nil && c.needsFence(recorded, running, noMoreAttempts)
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
		if f.Mended, f.Outcome, err = c.mendCall(ctx, call, recorded, lost, fence, info); err != nil {
			return err
		}
	}
	if f.Kind != "" {
		c.out.add(f)
	}
	return nil
}

// needsFence reports whether a tool that must not be repeated may have run in an attempt of which neither Temporal nor
// the record has a trace: an attempt after both backups, or inside a workflow task that did not complete. It returns false if the call has its fence. FenceAll
// then writes a claim that nobody answers (the fence), so that the call ends with an unknown outcome instead of
// running the tool again.
func (c *comparison) needsFence(recorded record.Dispatched, running, noMoreAttempts bool) bool {
	untraced := c.older == olderBoth && running || c.lostRecords() && recorded.Claimed && !noMoreAttempts
	return untraced && !recorded.Repeatable && !recorded.Fenced
}

// recheck makes the workflow of a call read the record of the call as soon as a worker runs it. It returns nil for a
// workflow that has ended in the meantime, and for a workflow that has got as many signals as the server accepts: this
// workflow reads its record when it continues.
func (c *comparison) recheck(ctx context.Context, workflowID string) error {
	err := c.Client().Recheck(ctx, workflowID)
	if errors.Is(err, client.ErrSettled) || errors.Is(err, client.ErrNotFound) || errors.As(err, new(*serviceerror.InvalidArgument)) {
		return nil
	}
	return err
}

// lostClaims returns the claims of a call that Temporal has and the record does not. It reads all runs of the
// workflow: after a reset, a run between the recorded run and the latest run may have made an attempt. noMoreAttempts
// is that of the outline of the latest run, because only this run goes on. The error is errUnread if a history cannot be
// decrypted.
func (c *comparison) lostClaims(ctx context.Context, call upkeep.OpenCall, recorded record.Dispatched, latest string, pending []*workflow.PendingActivityInfo) (lost []record.LostClaim, noMoreAttempts bool, err error) {
	has := map[int]bool{}
	for _, n := range recorded.Dispatches {
		has[n] = true
	}
	runs := []string{latest}
	// Visibility may not have the recorded run yet.
	for _, runID := range append([]string{call.RunID}, c.runIDs[call.WorkflowID]...) {
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
		if !found || !t.onPawlQueue || t.workflowType != toolspec.WorkflowType {
			continue
		}
		if t.unread {
			return nil, false, errUnread
		}
		if runID == latest {
			noMoreAttempts = t.noMoreAttempts
		}
		for _, claim := range t.claims {
			if !has[claim.Dispatch] {
				has[claim.Dispatch] = true
				lost = append(lost, claim)
			}
		}
	}
	return lost, noMoreAttempts, nil
}

// mendCall writes the lost claims and, if fence is set, the fence of an open call into the record. If the workflow has
// ended, mendCall settles the call and returns the code as outcome. Any other call continues when workers start.
// mended is false if the call has changed in the meantime, so that nothing is settled.
func (c *comparison) mendCall(ctx context.Context, call upkeep.OpenCall, recorded record.Dispatched, lost []record.LostClaim, fence bool, info *workflow.WorkflowExecutionInfo) (mended bool, outcome string, err error) {
	epoch := call.Epoch
	if len(lost) > 0 {
		epoch, err = c.Store.Fence(ctx, c.Namespace(), call.InvocationID, epoch, lost)
	}
	if fence && err == nil {
		for _, claim := range lost {
			recorded.Dispatches = append(recorded.Dispatches, claim.Dispatch)
		}
		epoch, err = c.Store.FenceAll(ctx, c.Namespace(), recorded, epoch)
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

// ending returns how a workflow has ended, and a code for its call, which Sweep uses only if no claim says that the
// call may have had an effect. A restored record may lack such a claim. So if the workflow completed or is gone, and
// may have run a tool, the code is outcome_unknown then.
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
