package activities

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Owner is the workflow run that a call belongs to, as Temporal knows it.
type Owner struct {
	Status OwnerStatus
	// RunID is that of the run that was asked about, or of the latest one.
	RunID string
}

// OwnerStatus says how a run stands. The words are written into the record.
type OwnerStatus string

// The statuses. A run that Temporal will go on with, whatever it calls that, is
// running.
const (
	OwnerRunning    OwnerStatus = "running"
	OwnerCompleted  OwnerStatus = "completed"
	OwnerFailed     OwnerStatus = "failed"
	OwnerTimedOut   OwnerStatus = "timed_out"
	OwnerTerminated OwnerStatus = "terminated"
	OwnerCancelled  OwnerStatus = "cancelled"
	// OwnerDeleted: Temporal is there, and has no such run.
	OwnerDeleted OwnerStatus = "deleted"
)

// code is how a call ends whose run is over, where no effect is in doubt. A run
// settles before it completes, so one that completed with its record open has
// lost its result.
func (s OwnerStatus) code() toolspec.Code {
	switch s {
	case OwnerTimedOut:
		return toolspec.CodeTimeout
	case OwnerTerminated, OwnerCancelled, OwnerDeleted:
		return toolspec.CodeCancelled
	case OwnerRunning, OwnerCompleted, OwnerFailed:
	}
	return toolspec.CodeInternal
}

// ownerTimeout bounds one question to Temporal.
const ownerTimeout = 10 * time.Second

// owner says how the run stands that a call belongs to. While the latest run of
// the workflow goes on, the call is its business: it will admit it. Else it is
// the recorded run whose end counts, as long as Temporal remembers it.
func (s *Sweeper) owner(ctx context.Context, c OpenCall) (OwnerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	latest, err := s.owners.Owner(ctx, c.WorkflowID, "")
	if err != nil || latest.Status == OwnerRunning || latest.Status == OwnerDeleted || latest.RunID == c.RunID {
		return latest.Status, err
	}
	recorded, err := s.owners.Owner(ctx, c.WorkflowID, c.RunID)
	switch {
	case err != nil:
		return "", err
	case recorded.Status != OwnerDeleted:
		return recorded.Status, nil
	case latest.Status == OwnerCompleted:
		// It completed without this call, say with a conflict.
		return OwnerDeleted, nil
	}
	return latest.Status, nil
}
