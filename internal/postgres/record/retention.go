package record

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// DeleteExpiredCalls deletes up to limit calls that settled more than the given number of days
// ago, with their claims, approvals and decisions. It returns the number of calls. It never
// deletes an open call.
func (s *Store) DeleteExpiredCalls(ctx context.Context, days, limit int) (int, error) {
	n, err := s.db.Exec(ctx, "delete expired calls", db.Query("DeleteExpiredCalls", db.Values{"days": days, "batch": limit}))
	return int(n), err
}

// deletedRow is a row of the statement DeleteExpiredRows.
type deletedRow struct{ Deleted int }

// DeleteExpiredRows deletes rows of the DEFAULT partitions, up to limit of each table. It deletes
// the rows of a month if the month ended more than the given number of days ago and no call of this
// month is left. It returns the number of rows.
func (s *Store) DeleteExpiredRows(ctx context.Context, days, limit int) (int, error) {
	row, _, err := db.First[deletedRow](ctx, s.db, "delete expired rows", db.Query("DeleteExpiredRows", db.Values{"days": days, "batch": limit}))
	return row.Deleted, err
}

// DeleteExpiredRuns deletes up to limit runs that ended more than the given number of days ago and
// have no event left, and returns their number.
func (s *Store) DeleteExpiredRuns(ctx context.Context, days, limit int) (int, error) {
	n, err := s.db.Exec(ctx, "delete expired runs", db.Query("DeleteExpiredRuns", db.Values{"days": days, "batch": limit}))
	return int(n), err
}

// partitionRow is a row of the statement ExpiredPartitions.
type partitionRow struct{ Name string }

// lockNotAvailable is the SQLSTATE of a statement that did not get its lock in time.
const lockNotAvailable = "55P03"

// DropExpiredPartitions drops the partition of each month that ended more than the given number of days ago, if it has no call left. It skips
// a partition that stays locked for 200 ms. A later sweep drops it.
func (s *Store) DropExpiredPartitions(ctx context.Context, days int) (out upkeep.DroppedPartitions, err error) {
	expired, err := db.All[partitionRow](ctx, s.db, "expired partitions", db.Query("ExpiredPartitions", db.Values{"days": days}))
	if err != nil {
		return out, err
	}
	for _, p := range expired {
		err := s.dropPartition(ctx, p.Name)
		var refused *db.Error
		switch {
		case err == nil:
			out.Dropped++
		case errors.As(err, &refused) && refused.State == lockNotAvailable && errs.IsTransient(err):
			out.Busy++
		default:
			return out, err
		}
	}
	return out, nil
}

// dropPartition drops a partition.
func (s *Store) dropPartition(ctx context.Context, name string) error {
	_, err := s.db.Exec(ctx, "drop a partition", db.Query("DropPartition", db.Values{"name": name}))
	return err
}
