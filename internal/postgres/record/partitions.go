package record

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// maxPartitionMonths bounds EnsurePartitions.
const maxPartitionMonths = 24

// EnsurePartitions makes the partitions of this month and of the months ahead, 0–24, that do not exist. A month whose rows stand in
// the DEFAULT partition already is left there. It may be called at any time and by several processes; the error of one that waited two
// seconds for a lock is transient.
func (s *Store) EnsurePartitions(ctx context.Context, months int) error {
	const op = "ensure partitions"
	if months < 0 || months > maxPartitionMonths {
		return db.Failure(op, fmt.Errorf("%d months; it must be between 0 and %d", months, maxPartitionMonths))
	}
	return s.db.ExecAll(ctx, op, db.Query("SetPartitionMonths", db.Values{"months": months}), db.Query("EnsurePartitions", db.Values{}))
}
