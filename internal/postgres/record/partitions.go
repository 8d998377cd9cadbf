package record

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// maxPartitionMonths bounds the months argument of EnsurePartitions.
const maxPartitionMonths = 24

// partitioned are the tables with a partition for each month.
var partitioned = []string{"stage_events", "attempts", "payloads", "events", "hydrations", "run_events"}

// EnsurePartitions creates the missing partitions of this month and of the next months, 0–24. It
// skips a month that already has rows in the DEFAULT partition. Several processes may call it at
// any time. After two seconds of waiting for the lock of a table it goes on with the other tables, and
// returns the first error at the end. That error is transient.
func (s *Store) EnsurePartitions(ctx context.Context, months int) (first error) {
	const op = "ensure partitions"
	if months < 0 || months > maxPartitionMonths {
		return db.Failure(op, fmt.Errorf("%d months; it must be between 0 and %d", months, maxPartitionMonths))
	}
	// Each table has a transaction of its own. A transaction that held the lock of one table and
	// waited for the lock of another one would deadlock with a call that writes to both.
	for _, parent := range partitioned {
		if _, err := s.db.Exec(ctx, op, db.Query("EnsurePartitions", db.Values{"parent": parent, "months": months})); err != nil && first == nil {
			first = err
		}
	}
	return first
}
