package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestLocalAttemptInAnExpiredPlace: a worker does not run the tool if it was suspended for so long that another
// call may have the slot, or if it did not ask for the slot itself. The clocks of other machines do not count
// (case 28 of docs/internals/faults.md). In the regular lane the claim checks the slot in the database.
func TestLocalAttemptInAnExpiredPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Duration
		// leased is the difference between the clock of the workflow and the clock of the worker.
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
				w := newWorld(t, setup{config: activities.Config{SlotTimes: slotTimes, Own: capacity.Limits(policies{}, slotGiver{}, slotTimes)}})
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

// TestNoClaimWithoutALease: an attempt that does not get its connection makes no claim and runs no tool,
// because a claim without a run would make the outcome unknown.
func TestNoClaimWithoutALease(t *testing.T) {
	for answer, want := range map[broker.Answer]contract.Outcome{broker.Superseded: contract.Superseded, broker.NeedsReauth: contract.Refused} {
		w := newWorld(t, setup{
			def:    func(d *toolspec.Definition) { d.Capabilities = []toolspec.CapabilityName{capability.ClientsKey.Name()} },
			config: activities.Config{Broker: refusingBroker(answer)},
		})
		in := w.executeIn()
		in.Facts.Context.ConnectionID = "conn"
		in.Facts.Data = append(in.Facts.Data, hook.Entry{Key: "pawl.connection", Value: json.RawMessage("true")})
		got := w.execute(t.Context(), t, in)
		if got.Outcome != want || w.runs != 0 || len(w.records.claims) != 0 {
			t.Errorf("%v: %+v after %d runs with %d claims", answer, got, w.runs, len(w.records.claims))
		}
		if answer == broker.NeedsReauth && (got.Failure == nil || !strings.Contains(got.Failure.SafeMessage, "pawl connections signin conn")) {
			t.Errorf("a connection without a credential: %+v", got.Failure)
		}
	}
}

// refusingBroker is a broker that leases nothing and returns this answer.
type refusingBroker broker.Answer

func (a refusingBroker) Lease(context.Context, broker.Request) (*broker.Lease, broker.Answer, error) {
	return nil, broker.Answer(a), nil
}

// slotGiver is a store that gives each call its slots.
type slotGiver struct{ capacity.Store }

func (slotGiver) TakeSlots(context.Context, capacity.SlotsRow) (capacity.Answer, error) {
	return capacity.Answer{State: capacity.Taken}, nil
}
