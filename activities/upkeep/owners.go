package upkeep

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Owners asks Temporal for the workflow runs that calls belong to.
type Owners interface {
	// Owner describes a run of the workflow. An empty run ID means the latest run. An
	// error means that the status is unknown. The error is marked errs.Transient if a question
	// about another workflow may fail too, because the server has not answered.
	Owner(ctx context.Context, workflowID, runID string) (Owner, error)
}

// Owner is the workflow run that a call belongs to, as Temporal describes it.
type Owner struct {
	Status OwnerStatus
	// RunID is the ID of the run in question, or of the latest run if none was named. It
	// may be empty for a deleted run.
	RunID string
}

// OwnerStatus is the status of a workflow run. Its values are written into the record.
type OwnerStatus string

// The statuses of a workflow run. OwnerRunning covers every run that Temporal will
// continue, including a paused run.
const (
	OwnerRunning    OwnerStatus = "running"
	OwnerCompleted  OwnerStatus = "completed"
	OwnerFailed     OwnerStatus = "failed"
	OwnerTimedOut   OwnerStatus = "timed_out"
	OwnerTerminated OwnerStatus = "terminated"
	OwnerCancelled  OwnerStatus = "cancelled"
	// OwnerMoved means that the run has moved the call to another task queue, in a new run.
	OwnerMoved OwnerStatus = "moved"
	// OwnerDeleted means that Temporal answered and has no such run.
	OwnerDeleted OwnerStatus = "deleted"
)

// code returns the code for a call whose run has ended, if no effect of the call is in
// doubt. A run settles its call before it completes. So a completed run with an open
// record has lost its result: the code is internal.
func (s OwnerStatus) code() toolspec.Code {
	switch s {
	case OwnerTimedOut:
		return toolspec.CodeTimeout
	case OwnerTerminated, OwnerCancelled, OwnerDeleted:
		return toolspec.CodeCancelled
	case OwnerRunning, OwnerMoved, OwnerCompleted, OwnerFailed:
	}
	return toolspec.CodeInternal
}

// ownerTimeout is the maximum time to determine the owner of one call.
const ownerTimeout = 10 * time.Second

// owner returns the status of the run that a call belongs to. While the latest run of the
// workflow is running, the call belongs to it, because that run will admit the call.
// Otherwise the end of the recorded run counts, as long as Temporal still has that run.
func (s *Sweeper) owner(ctx context.Context, c OpenCall) (OwnerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	latest, err := s.owners.Owner(ctx, c.WorkflowID, "")
	if err == nil && latest.Status == OwnerMoved {
		return OwnerRunning, nil // the next run of the workflow is about to be the latest run
	}
	// A second question is not needed in these cases: the call belongs to the running run,
	// a workflow without any run cannot have the recorded run either, or the latest run is
	// the recorded run.
	if err != nil || latest.Status == OwnerRunning || latest.Status == OwnerDeleted || latest.RunID == c.RunID {
		return latest.Status, err
	}
	recorded, err := s.owners.Owner(ctx, c.WorkflowID, c.RunID)
	switch {
	case err != nil:
		return "", err
	case recorded.Status == OwnerMoved:
		return latest.Status, nil // the latest run ended before it admitted the call
	case recorded.Status != OwnerDeleted:
		return recorded.Status, nil
	case latest.Status == OwnerCompleted:
		// The latest run completed without this call, for example with a conflict. So the
		// status "completed" is not true of the call. The recorded run of the call is gone.
		return OwnerDeleted, nil
	}
	return latest.Status, nil
}
