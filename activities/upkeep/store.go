package upkeep

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Store has the operations of the sweeper on the record. Each method is one bounded step, may run
// at any time, and two runs may overlap.
type Store interface {
	// OpenCalls returns a page of the open calls of a namespace, oldest first.
	OpenCalls(ctx context.Context, page OpenPage) ([]OpenCall, error)
	// Sweep settles a call whose workflow has ended and returns the code of the call. It
	// returns "" and writes nothing if the record has changed since it was read.
	Sweep(ctx context.Context, in SweepRow) (toolspec.Code, error)
	// ReleaseExpired frees the expired slots that no call frees itself, at up to limit semaphores,
	// and gives them to waiting calls. It returns how many expired slots it found.
	ReleaseExpired(ctx context.Context, limit int) (int, error)
	// DeleteIdleCapacity deletes up to limit rows of quotas and up to limit rows of
	// semaphores. It deletes a row only if a missing row has the same meaning: a full quota
	// or a semaphore without holders. It returns how many rows it deleted.
	DeleteIdleCapacity(ctx context.Context, limit int) (int, error)
	// DeleteOldSessions deletes up to limit bindings of sessions that are no longer in use,
	// and returns how many it deleted.
	DeleteOldSessions(ctx context.Context, limit int) (int, error)
	// DeleteKeptAnswers deletes up to limit kept answers of settled calls, and returns how many it deleted. Settle
	// and Sweep delete the kept answers of their call, but a worker of release 0.1.0 does not.
	DeleteKeptAnswers(ctx context.Context, limit int) (int, error)
	// EnsurePartitions makes the partitions of this month and of the given number of following months.
	EnsurePartitions(ctx context.Context, months int) error
	// DeleteExpiredCalls deletes up to limit calls that settled more than the given number of
	// days ago, and returns how many it deleted.
	DeleteExpiredCalls(ctx context.Context, days, limit int) (int, error)
	// DeleteExpiredRows deletes expired rows from DEFAULT partitions, up to limit from each
	// table, and returns how many it deleted. A row is expired if its month ended more than
	// the given number of days ago and the record has no call of that month any more.
	DeleteExpiredRows(ctx context.Context, days, limit int) (int, error)
	// DeleteExpiredRuns deletes up to limit runs that ended more than the given number of days ago
	// and have no events left, and returns how many. Call it until it deletes none.
	DeleteExpiredRuns(ctx context.Context, days, limit int) (int, error)
	// DeleteExpiredAgentRuns deletes up to limit runs of agents that ended more than the given number of days ago,
	// with their rounds and messages, and returns how many. A run without a recorded end counts as ended at the end of its
	// time limit.
	DeleteExpiredAgentRuns(ctx context.Context, days, limit int) (int, error)
	// DeleteExpiredCache deletes up to limit expired values of the result cache, and returns
	// how many it deleted.
	DeleteExpiredCache(ctx context.Context, limit int) (int, error)
	// DeleteExpiredOutputs deletes stored outputs whose time is over and unfinished outputs to which
	// no attempt writes any more, at most about limit rows, and returns how many rows it changed.
	DeleteExpiredOutputs(ctx context.Context, limit int) (int, error)
	// DeleteOutputObjects deletes a batch of the objects in the bucket that no output has any more, and returns
	// how many it deleted. If the bucket refused some objects, it also returns an error.
	DeleteOutputObjects(ctx context.Context) (int, error)
	// DeleteExpiredMemory deletes up to limit expired entries of the memory of one session, and up to
	// limit rows of each kind that nobody needs any more, and returns how many rows it deleted.
	DeleteExpiredMemory(ctx context.Context, limit int) (int, error)
	// DeleteExpiredSeals deletes seals of the audit trail whose events were deleted more than about the given number of days after they were
	// sealed, and returns how many rows it deleted. Call it until it deletes none.
	DeleteExpiredSeals(ctx context.Context, days int) (int, error)
	// DropExpiredPartitions drops the partitions of each month that ended more than the
	// given number of days ago, if the record has no call of that month any more. It counts
	// a partition that is in use as busy and keeps it.
	DropExpiredPartitions(ctx context.Context, days int) (DroppedPartitions, error)
}

// OpenPage selects a page of the open calls.
type OpenPage struct {
	Namespace string
	// After is the last call of the previous page; nil asks for the first page.
	After *OpenCall
	// Until is the time of the newest call to return. The page has no call that was created
	// later. The zero time sets no limit.
	Until time.Time
	Limit int
}

// OpenCall is a call that is not settled.
type OpenCall struct {
	InvocationID string
	WorkflowID   string
	// RunID is the ID of the run that admitted the call last.
	RunID     string
	Epoch     int
	CreatedAt time.Time
	// SeenAt is when the row was read, by the database's clock.
	SeenAt time.Time
}

// SweepRow identifies a call whose workflow run can no longer settle it, and says how the
// run ended.
type SweepRow struct {
	InvocationID string
	Namespace    string
	// Epoch and RunID were read before Temporal was asked: a run that has admitted the
	// call since then keeps it.
	Epoch int
	RunID string
	// Cause is the status with which the owner ended.
	Cause OwnerStatus
	// Code is the code of the call, unless its effect may have happened: then the code is
	// outcome_unknown.
	Code toolspec.Code
}

// DroppedPartitions has two counts. Dropped is the number of dropped partitions. Busy is
// the number of expired partitions that were kept because they were in use.
type DroppedPartitions struct{ Dropped, Busy int }
