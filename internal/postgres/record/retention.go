package record

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// DeleteExpiredCalls deletes up to most settled calls that settled more than days ago, with their claims, approvals and decisions, and
// returns how many. Open calls have no age.
func (s *Store) DeleteExpiredCalls(ctx context.Context, days, most int) (int, error) {
	n, err := s.db.Exec(ctx, "delete expired calls", db.Query("DeleteExpiredCalls", db.Values{"days": days, "batch": most}))
	return int(n), err
}

// deletedRow is the row of DeleteExpiredRows.
type deletedRow struct{ Deleted int }

// DeleteExpiredRows deletes rows in the DEFAULT partitions whose whole month is more than days ago and has no call left, up to most of
// each table, and returns how many.
func (s *Store) DeleteExpiredRows(ctx context.Context, days, most int) (int, error) {
	row, _, err := db.First[deletedRow](ctx, s.db, "delete expired rows", db.Query("DeleteExpiredRows", db.Values{"days": days, "batch": most}))
	return row.Deleted, err
}

// partitionRow is the row of ExpiredPartitions.
type partitionRow struct{ Name string }

// DropExpiredPartitions drops the partitions whose whole month is more than days ago and has no call left. One that is in use for longer
// than a fifth of a second is left for another time.
func (s *Store) DropExpiredPartitions(ctx context.Context, days int) (out upkeep.DroppedPartitions, err error) {
	expired, err := db.All[partitionRow](ctx, s.db, "expired partitions", db.Query("ExpiredPartitions", db.Values{"days": days}))
	for _, p := range expired {
		err := s.dropPartition(ctx, p.Name)
		var refused *db.Error
		switch {
		case err == nil:
			out.Dropped++
		case errors.As(err, &refused) && refused.State == "55P03" && errs.IsTransient(err):
			out.Busy++
		default:
			return out, err
		}
	}
	return out, err
}

func (s *Store) dropPartition(ctx context.Context, name string) error {
	return s.db.ExecAll(ctx, "drop a partition", db.Query("SetExpiredPartition", db.Values{"name": name}), db.Query("DropPartition", db.Values{}))
}
