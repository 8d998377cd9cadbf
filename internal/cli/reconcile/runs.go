package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"

	activity "github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/workflows/contract"
)

// whyEnded is the reason of runs that the command ends.
const whyEnded = "the record of the run was restored from a backup, and lacks what the run has done since"

// lostRuns finds the runs of agents that go on in Temporal with rounds that the record has lost. With --mend it ends
// such a run: without these rounds, the model could ask for their calls again, under new ids.
func (c *comparison) lostRuns(ctx context.Context) error {
	return c.each(ctx, "WorkflowType = '"+agent.WorkflowType+"' AND ExecutionStatus = 'Running'", func(ctx context.Context, runs []*workflow.WorkflowExecutionInfo) error {
		return forEach(ctx, c, runs, listedID, c.lostRun)
	})
}

// lostRun reports a run of an agent whose history has rounds that the record lacks. With --mend it terminates the
// workflow, and ends the run in the record if the record has it.
func (c *comparison) lostRun(ctx context.Context, listed *workflow.WorkflowExecutionInfo) error {
	workflowID, runID := listed.GetExecution().GetWorkflowId(), listed.GetExecution().GetRunId()
	tenantID, ofTenant, _ := strings.Cut(strings.TrimPrefix(workflowID, "agent:"), ":")
	of := contract.AgentRun{TenantID: tenantID, RunID: ofTenant}
	info, pending, err := c.read.describe(ctx, workflowID, runID)
	if err != nil || info == nil || !isRunning(info.GetStatus()) || agent.WorkflowID(of.TenantID, of.RunID) != workflowID {
		return err
	}
	t, found, err := c.read.read(ctx, workflowID, runID, pending)
	if err != nil || !found || !t.onPawlQueue || t.workflowType != agent.WorkflowType {
		return err
	}
	unread := t.unread
	if !t.askedModel && t.previous != "" {
		if t, _, err = c.read.read(ctx, workflowID, t.previous, nil); err != nil {
			return err
		}
	}
	if unread || t.unread {
		return errUnread
	}
	recorded, err := c.Store.AgentRun(ctx, of)
	missing := errors.Is(err, activity.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	// If the record does not have a run that has asked a model, the whole run is lost.
	if wholly := missing && t.askedModel; !wholly && (recorded.Result != nil || recorded.Round >= t.lastRound) {
		return nil
	}
	f := finding{Kind: kindRun, WorkflowID: workflowID, Text: fmt.Sprintf("a model has responded in round %d, and the record has %d rounds", t.lastRound, recorded.Round)}
	if c.mend {
		if err := c.Temporal.TerminateWorkflow(ctx, workflowID, runID, whyEnded); err != nil && !errors.As(err, new(*serviceerror.NotFound)) {
			return err
		}
		if !missing {
			if err := c.endRun(ctx, of); err != nil {
				return err
			}
		}
		f.Mended = true
	}
	c.out.add(f)
	return nil
}

// endRun ends a run in the record, as the sweeper does.
func (c *comparison) endRun(ctx context.Context, of contract.AgentRun) error {
	agents := activity.Agents{Store: c.Store, Client: c.Client(), Log: slog.New(slog.DiscardHandler)}
	_, err := agents.EndLost(ctx, of, contract.AgentEnd{Outcome: agent.Failed, Reason: whyEnded}, true)
	return err
}

// openRuns finds the runs of agents that are open in the record and whose workflow has ended or is gone.
func (c *comparison) openRuns(ctx context.Context) error {
	at := upkeep.RunPage{Namespace: c.Namespace(), Limit: page}
	for {
		runs, err := c.Store.OpenAgentRuns(ctx, at)
		if err != nil || len(runs) == 0 {
			return err
		}
		if err := forEach(ctx, c, runs, openID, c.openRun); err != nil {
			return err
		}
		at.Before = &runs[len(runs)-1]
	}
}

func openID(r upkeep.OpenRun) string { return agent.WorkflowID(r.TenantID, r.RunID) }

// openRun reports a run that is open in the record and whose workflow has ended or is gone. With --mend it ends the run
// in the record.
func (c *comparison) openRun(ctx context.Context, r upkeep.OpenRun) error {
	workflowID := openID(r)
	info, _, err := c.read.describe(ctx, workflowID, "")
	if err != nil {
		return err
	}
	// A run that another run has started is in the record before its workflow starts, so it may have no workflow yet.
	if info != nil && isRunning(info.GetStatus()) || info == nil && r.ParentRunID != "" {
		return nil
	}
	f := finding{Kind: kindRunEnded, WorkflowID: workflowID, Text: "the run is open in the record, and Temporal has no workflow of it"}
	if info != nil {
		f.Text = "the run is open in the record, and its workflow is " + status(info.GetStatus())
	}
	if c.mend {
		if err := c.endRun(ctx, contract.AgentRun{TenantID: r.TenantID, RunID: r.RunID}); err != nil {
			return err
		}
		f.Mended = true
	}
	c.out.add(f)
	return nil
}
