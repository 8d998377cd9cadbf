package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestLocalAttemptInAnExpiredPlace: a worker that stood still for so long that its place may be another's does not run the tool, nor does
// one that never asked for it. What the clocks of other machines say counts for nothing (fault 28). In the regular lane the claim asks the
// database.
func TestLocalAttemptInAnExpiredPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Duration
		// leased is how far off the workflow's clock is that says since when.
		leased time.Duration
		runs   int
	}{
		"just now": {0, 0, 1}, "a while ago": {capacity.HoldTime / 2, 0, 1}, "too long ago": {capacity.HoldTime - time.Minute, 0, 0}, "expired": {2 * capacity.HoldTime, 0, 0},
		"a clock an hour behind": {0, -time.Hour, 1}, "a clock an hour ahead": {0, time.Hour, 1},
		"expired, and a clock an hour ahead": {2 * capacity.HoldTime, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slotTimes := &capacity.SlotTimes{}
				w := newWorld(t, setup{config: activities.Config{SlotTimes: slotTimes, Own: capacity.Limits(policies{}, takes{}, slotTimes)}})
				in := w.executeIn()
				in.Facts.PolicyDigest, in.Facts.Round = "", 2
				in.Dispatch, in.LeasedAtMs = 0, time.Now().Add(tc.leased).UnixMilli()
				if out := w.execute(t.Context(), t, in); w.runs != 0 || out.Outcome != contract.Unleased {
					t.Errorf("a place that nobody here asked for: %+v after %d runs", out, w.runs)
				}
				ask := hook.StageInput{Stage: hook.WillAcquireSemaphore.Stage(), Facts: in.Facts}
				if _, err := w.Stage(t.Context(), ask); err != nil {
					t.Fatal(err)
				}
				pass(tc.since)
				out := w.execute(t.Context(), t, in)
				if w.runs != tc.runs || (out.Outcome == contract.Unleased) != (tc.runs == 0) {
					t.Errorf("got %+v after %d runs", out, w.runs)
				}
				if _, err := w.Settle(t.Context(), contract.SettleIn{InvocationID: in.Facts.InvocationID}); err != nil {
					t.Fatal(err)
				}
				if out := w.execute(t.Context(), t, in); out.Outcome != contract.Unleased {
					t.Errorf("after the call was settled: %+v", out)
				}
			})
		})
	}
}

// takes gives every place that it is asked for.
type takes struct{ capacity.Store }

func (takes) TakeSlots(context.Context, capacity.SlotsRow) (capacity.Answer, error) {
	return capacity.Answer{State: capacity.Taken}, nil
}
