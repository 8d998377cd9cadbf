package workflows_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/recordtest"
)

// TestRecord: the fake records of these tests pass the test suite of the records in Postgres.
func TestRecord(t *testing.T) {
	t.Parallel()
	recordtest.Run(t, func(*testing.T) activities.Records { return newRecords("", time.Now) })
}
