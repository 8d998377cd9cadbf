package activities_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/workflows"
)

// TestLocalAttemptInAnExpiredPlace: a worker that stood still for so long that its place may be another's does not run the tool. In the
// regular lane the claim asks the database.
func TestLocalAttemptInAnExpiredPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Duration
		runs  int
	}{
		"just now": {0, 1}, "a while ago": {activities.HoldTime / 2, 1}, "too long ago": {activities.HoldTime - time.Minute, 0}, "expired": {2 * activities.HoldTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{})
			in := w.executeIn()
			in.Dispatch, in.LeasedAtMs = 0, time.Now().Add(-tc.since).UnixMilli()
			out := w.execute(t.Context(), t, in)
			if w.runs != tc.runs || (out.Outcome == workflows.Unleased) != (tc.runs == 0) {
				t.Errorf("got %+v after %d runs", out, w.runs)
			}
		})
	}
}
