package workflows_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/recordtest"
)

// TestRecord: the records of these tests answer as those in Postgres do.
func TestRecord(t *testing.T) {
	t.Parallel()
	recordtest.Run(t, func(*testing.T) activities.Records { return newRecords("", time.Now) })
}
