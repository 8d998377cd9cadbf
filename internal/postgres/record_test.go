package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/recordtest"
)

func TestRecord(t *testing.T) {
	b := open(t)
	recordtest.Run(t, func(*testing.T) activities.Records { return b.Store })
}
