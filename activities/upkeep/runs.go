package upkeep

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// AgentRuns has the runs of agents that are open in the record.
type AgentRuns interface {
	// OpenAgentRuns returns a page of the open runs of a namespace, newest first.
	OpenAgentRuns(ctx context.Context, page RunPage) ([]OpenRun, error)
	// EndLost ends a run whose workflow has ended without ending the run. If a call of the run is open, the run stays open
	// for the next sweep, and ended is false. If late is set, EndLost ends the run even if a call is open.
	EndLost(ctx context.Context, of contract.AgentRun, end contract.AgentEnd, late bool) (ended bool, err error)
}

// RunPage selects a page of the open runs.
type RunPage struct {
	Namespace string
	// Before is the last run of the previous page; nil asks for the first page.
	Before *OpenRun
	Limit  int
}

// OpenRun is a run of an agent that has no result.
type OpenRun struct {
	TenantID, RunID string
	// ParentRunID is the run whose call has started this run, or empty.
	ParentRunID string
	OpenedAt    time.Time
	// IsLate says that the time limit of the run is over.
	IsLate bool
	// HasChildren says that a run that a call of this run has started is open.
	HasChildren bool
}

func (r OpenRun) of() contract.AgentRun {
	return contract.AgentRun{TenantID: r.TenantID, RunID: r.RunID}
}

// WithAgentRuns returns the sweeper, which then also ends runs of agents whose workflow has ended.
func (s *Sweeper) WithAgentRuns(runs AgentRuns) *Sweeper {
	s.runs = runs
	return s
}

// endRuns ends the open runs of agents whose workflow has ended. It begins with the newest run: a child is
// newer than its parent, so the child ends first, and its totals are added to the parent.
func (s *Sweeper) endRuns(ctx context.Context, out *contract.SweepCallsOut) error {
	if s.runs == nil {
		return nil
	}
	page := RunPage{Namespace: s.namespace, Limit: sweepPage}
	var failed error
	for {
		if heartbeat.Stopping(ctx) {
			return errs.Transient(errStopping)
		}
		runs, err := s.runs.OpenAgentRuns(ctx, page)
		if err != nil {
			return err
		}
		statuses, err := s.statuses(ctx, runs)
		if err != nil {
			return err
		}
		for i, r := range runs {
			// One run that cannot be ended must not keep the older runs open. After a second failure, the database is probably away.
			if err := s.endRun(ctx, r, statuses[i], out); err != nil {
				if failed != nil || ctx.Err() != nil {
					return err
				}
				failed = err
			}
		}
		if len(runs) < page.Limit {
			return failed
		}
		page.Before = &runs[len(runs)-1]
	}
}

// statuses returns the statuses of the workflows of runs. A workflow whose status Temporal cannot give counts as running.
func (s *Sweeper) statuses(ctx context.Context, runs []OpenRun) ([]OwnerStatus, error) {
	statuses := make([]OwnerStatus, len(runs))
	failed, err := ask(ctx, len(runs), func(ctx context.Context, i int) (err error) {
		statuses[i], err = s.runStatus(ctx, runs[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, err := range failed {
		if err != nil {
			s.log.WarnContext(ctx, "a run of an agent could not be swept: Temporal does not say how its workflow stands", "workflowId", agent.WorkflowID(runs[i].TenantID, runs[i].RunID))
			statuses[i] = OwnerRunning
		}
	}
	return statuses, nil
}

// runStatus returns the status of the workflow of a run. A run with a parent is recorded before its workflow starts. So a run without a
// workflow counts as running while the workflow of its parent, which may still start it, runs.
func (s *Sweeper) runStatus(ctx context.Context, r OpenRun) (OwnerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	owner, err := s.owners.Owner(ctx, agent.WorkflowID(r.TenantID, r.RunID), "")
	if err == nil && owner.Status == OwnerDeleted && r.ParentRunID != "" {
		parent, err := s.owners.Owner(ctx, agent.WorkflowID(r.TenantID, r.ParentRunID), "")
		if err != nil || parent.Status == OwnerRunning || parent.Status == OwnerMoved {
			return OwnerRunning, err
		}
	}
	if owner.Status == OwnerMoved {
		return OwnerRunning, err // the workflow continues in a new Temporal run
	}
	return owner.Status, err
}

// endRun ends a run, unless its workflow is running.
func (s *Sweeper) endRun(ctx context.Context, r OpenRun, status OwnerStatus, out *contract.SweepCallsOut) error {
	if status == OwnerRunning || r.HasChildren && !r.IsLate {
		return nil
	}
	id := agent.WorkflowID(r.TenantID, r.RunID)
	ended, err := s.runs.EndLost(ctx, r.of(), lostEnd(status), r.IsLate)
	switch {
	case errs.IsTransient(err) || ctx.Err() != nil:
		return err
	case err != nil:
		// The error concerns this run only. It must not keep the other runs open.
		s.log.ErrorContext(ctx, "a run of an agent could not be ended", "workflowId", id, "reason", errs.Reason(err))
	case ended:
		out.AgentRuns++
		s.log.WarnContext(ctx, "run of an agent ended: its workflow is over", "workflowId", id, "workflowStatus", string(status))
	}
	return nil
}

// lostEnd returns the end of a run for the status with which its workflow has ended.
func lostEnd(s OwnerStatus) contract.AgentEnd {
	switch s {
	case OwnerTerminated:
		return contract.AgentEnd{Outcome: agent.Failed, Reason: "the workflow of the run was terminated"}
	case OwnerTimedOut:
		return contract.AgentEnd{Outcome: agent.Failed, Reason: "the workflow of the run timed out"}
	case OwnerCancelled:
		return contract.AgentEnd{Outcome: agent.Cancelled, Reason: "the workflow of the run was cancelled"}
	case OwnerDeleted:
		return contract.AgentEnd{Outcome: agent.Failed, Reason: "the workflow of the run was deleted"}
	case OwnerRunning, OwnerMoved, OwnerCompleted, OwnerFailed:
	}
	return contract.AgentEnd{Outcome: agent.Failed, Reason: "the workflow of the run ended without recording its result"}
}
