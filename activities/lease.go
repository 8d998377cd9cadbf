package activities

import (
	"time"

	"github.com/pawl-run/pawl/workflows"
)

const (
	// HoldTime is for how long what a call takes of limited capacity is its own
	// without another word from it.
	HoldTime = 5 * time.Minute
	// holdMargin is how far the clocks of workers and database may differ.
	holdMargin = time.Minute
)

// expired reports whether a call of the local lane, which claims nothing, comes
// too late to run in the place that it took: a worker that stood still for
// minutes would run beside whoever has the place now. A claim asks the database.
func expired(in workflows.ExecuteIn, now time.Time) bool {
	if in.LeasedAtMs == 0 {
		return false
	}
	until := time.UnixMilli(in.LeasedAtMs).Add(HoldTime - holdMargin - time.Duration(in.MaxRuntimeMs)*time.Millisecond)
	return now.After(until)
}
