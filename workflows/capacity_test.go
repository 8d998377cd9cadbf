package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// fakeSemaphore is a step at willAcquireSemaphore that gives a slot to each call once it is open. It
// records the rounds and the epochs of its runs.
type fakeSemaphore struct {
	open, stale bool
	places      capacity.SlotTimes
	wait        hook.Wait
	rounds      []int
	epochs      []int
}

func (s *fakeSemaphore) step() stage.Table {
	return stage.Table{hook.WillAcquireSemaphore.Stage(): {Before: func(_ context.Context, in hook.StageInput) (hook.Verdict, error) {
		s.rounds, s.epochs = append(s.rounds, in.Facts.Round), append(s.epochs, in.Facts.Epoch)
		switch {
		case s.stale:
			s.stale = false
			return stage.Superseded(), nil
		case s.open:
			s.places.Remember(in.Facts.InvocationID, time.Now())
			return hook.Verdict{}, nil
		}
		return stage.Waits(s.wait), nil
	}}}
}

// limitedPolicy is freePolicy with a limit, so that the gate asks the fakeSemaphore.
var limitedPolicy = strings.Replace(freePolicy, "mode: auto", "mode: auto\n    limits: [{tool: \"core__*\", concurrent: 9, then: wait}]", 1)

const denyingPolicy = "version: 1\ntenants: {acme: {allowedTools: [\"core__other\"]}}\n"

// TestWaitForCapacity: a call without capacity tries again after each recheck and each timer, until the time for the wait is over, its
// deadline has passed or it is cancelled. The gate judges the call before each further try.
func TestWaitForCapacity(t *testing.T) {
	const second, minute, hour = 1_000, 60_000, 3_600_000
	for _, tc := range []struct {
		name   string
		wait   hook.Wait
		policy string
		setup  func(*rig, *fakeSemaphore)
		code   toolspec.Code
		retry  int64
		took   time.Duration
		rounds []int
		gates  int
	}{
		{name: "open at once", wait: hook.Wait{RetryMs: minute}, setup: func(_ *rig, s *fakeSemaphore) { s.open = true }, rounds: []int{1}, gates: 1},
		{name: "told", wait: hook.Wait{RetryMs: 10 * minute}, setup: func(r *rig, s *fakeSemaphore) {
			r.env.RegisterDelayedCallback(func() { s.open = true; r.env.SignalWorkflow(toolspec.RecheckName, nil) }, 7*time.Minute)
		}, took: 7 * time.Minute, rounds: []int{1, 2}, gates: 2},
		{name: "told before there is anything", wait: hook.Wait{RetryMs: 10 * minute}, setup: func(r *rig, s *fakeSemaphore) {
			r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, time.Minute)
			r.env.RegisterDelayedCallback(func() { s.open = true; r.env.SignalWorkflow(toolspec.RecheckName, nil) }, 3*time.Minute)
		}, took: 3 * time.Minute, rounds: []int{1, 2, 3}, gates: 3},
		{name: "woken by the timer", wait: hook.Wait{RetryMs: 20 * second}, setup: func(r *rig, s *fakeSemaphore) {
			r.env.RegisterDelayedCallback(func() { s.open = true }, 30*time.Second)
		}, took: 40 * time.Second, rounds: []int{1, 2, 3}, gates: 3},
		{name: "the wait is over", wait: hook.Wait{RetryMs: 20 * second, DeadlineMs: 50 * second, Code: toolspec.CodeCapacity, RetryAfterMs: 1500, Reason: "full"},
			code: toolspec.CodeCapacity, retry: 1500, took: 50 * time.Second, rounds: []int{1, 2, 3, 4}, gates: 4},
		{name: "the deadline is over", wait: hook.Wait{RetryMs: 10 * minute, DeadlineMs: 2 * hour, Code: toolspec.CodeRateLimited, RetryAfterMs: 9},
			code: toolspec.CodeRateLimited, retry: 9, took: 15*time.Minute + 7*time.Second, rounds: []int{1, 2, 3}, gates: 3},
		{name: "the deadline is over, without one of its own", wait: hook.Wait{RetryMs: 10 * minute, Code: toolspec.CodeCapacity},
			code: toolspec.CodeCapacity, took: 15*time.Minute + 7*time.Second, rounds: []int{1, 2, 3}, gates: 3},
		{name: "cancelled", wait: hook.Wait{RetryMs: 10 * minute}, setup: func(r *rig, _ *fakeSemaphore) {
			r.env.RegisterDelayedCallback(r.env.CancelWorkflow, 5*time.Minute)
		}, code: toolspec.CodeCancelled, took: 5 * time.Minute, rounds: []int{1}, gates: 1},
		{name: "denied meanwhile", wait: hook.Wait{RetryMs: 10 * minute}, setup: func(r *rig, s *fakeSemaphore) {
			r.env.RegisterDelayedCallback(func() {
				s.open = true
				r.activate(denyingPolicy)
				r.env.SignalWorkflow(toolspec.RecheckName, nil)
			}, 5*time.Minute)
		}, code: toolspec.CodePolicyDenied, took: 5 * time.Minute, rounds: []int{1}, gates: 2},
		{name: "to be asked about meanwhile", wait: hook.Wait{RetryMs: 10 * minute}, setup: func(r *rig, s *fakeSemaphore) {
			r.env.RegisterDelayedCallback(func() {
				s.open = true
				r.activate(strings.Replace(limitedPolicy, "decision: allow", "decision: require_approval", 1))
				r.env.SignalWorkflow(toolspec.RecheckName, nil)
			}, 5*time.Minute)
		}, code: toolspec.CodeApprovalStale, took: 5 * time.Minute, rounds: []int{1}, gates: 2},
		{name: "superseded", wait: hook.Wait{RetryMs: 10 * minute}, setup: func(_ *rig, s *fakeSemaphore) { s.open, s.stale = true, true }, rounds: []int{1, 1}, gates: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &fakeSemaphore{wait: tc.wait}
			r := newRig(t, rigOptions{policy: limitedPolicy, own: s.step(), places: &s.places})
			if tc.setup != nil {
				tc.setup(r, s)
			}
			result := r.run(call("core__read", args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || result.RetryAfterMs != tc.retry || took < tc.took-5*time.Second || took > tc.took+time.Second {
				t.Errorf("got %+v after %s, want %q after %s", result, took, tc.code, tc.took)
			}
			if tc.code == "" && (r.ran() != 1 || took < tc.took) || tc.code != "" && r.ran() != 0 {
				t.Errorf("the tool ran %d times", r.ran())
			}
			if !slices.Equal(s.rounds, tc.rounds) {
				t.Errorf("rounds %v, want %v", s.rounds, tc.rounds)
			}
			if gates := strings.Count(r.stages(), "willAuthorize"); gates != tc.gates {
				t.Errorf("the gate judged %d times, want %d:\n%s", gates, tc.gates, r.stages())
			}
			if tc.name == "superseded" && !r.records.settled[0].Holds {
				t.Error("what the run before it took is not given back")
			}
			if tc.name == "superseded" && !slices.Equal(s.epochs, []int{1, 2}) {
				t.Errorf("epochs %v, want those of the record", s.epochs)
			}
		})
	}
}

// TestStateSaysWhyACallWaits: the state query names the missing capacity while the call waits, and not after the wait.
func TestStateSaysWhyACallWaits(t *testing.T) {
	s := &fakeSemaphore{wait: hook.Wait{RetryMs: 60_000, Reason: "all 5 places are taken", Code: toolspec.CodeCapacity}}
	r := newRig(t, rigOptions{policy: limitedPolicy, own: s.step(), places: &s.places})
	var waiting, after toolspec.State
	look := func(into *toolspec.State) {
		answer, err := r.env.QueryWorkflow(toolspec.StateName)
		if err != nil || answer.Get(into) != nil {
			t.Error(err)
		}
	}
	r.env.RegisterDelayedCallback(func() {
		look(&waiting)
		s.open = true
		r.env.SignalWorkflow(toolspec.RecheckName, nil)
	}, 30*time.Second)
	r.run(call("core__read", args))
	look(&after)
	if waiting.Status != toolspec.StatusWaitingCapacity || waiting.Waiting != s.wait.Reason || waiting.Stage != "willAcquireSemaphore" {
		t.Errorf("got %+v", waiting)
	}
	if after.Status != toolspec.StatusSettled || after.Waiting != "" {
		t.Errorf("got %+v", after)
	}
}

// TestCapacityRoundsGoOn: a run that takes over a call continues from the capacity round of the previous run.
func TestCapacityRoundsGoOn(t *testing.T) {
	s := &fakeSemaphore{open: true}
	r := newRig(t, rigOptions{policy: limitedPolicy, own: s.step(), places: &s.places})
	r.records.row = nil
	r.records.onAdmit = func(n int, row *admit.Record) { row.Rounds.Capacity = 3 }
	r.run(call("core__read", args))
	if !slices.Equal(s.rounds, []int{4}) {
		t.Errorf("rounds %v, want the fourth", s.rounds)
	}
}

// TestSlotsAreGivenBackToAsk: if policy asks for an approval only after a hook has changed the arguments, the call already holds slots. The call
// gives the slots back while it waits for a person, and acquires them again before the tool runs.
func TestSlotsAreGivenBackToAsk(t *testing.T) {
	for _, tc := range []struct {
		name, rule string
		givesBack  bool
		rounds     []int
	}{
		{"a changed argument asks", "args.text == \"changed\"", true, []int{1, 2}},
		{"the tool asks in any case", "true", false, []int{1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &fakeSemaphore{open: true}
			changes := hook.New("changes", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
				v.SetArgs(echoIn{Text: "changed"})
				return nil
			}))
			asks := strings.Replace(limitedPolicy, "decision: allow", "decision: require_approval, when: '"+tc.rule+"'", 1)
			r := newRig(t, rigOptions{policy: asks, own: s.step(), places: &s.places, hooks: []hook.Hook{changes}})
			r.decideAfter(10*time.Minute, 1, toolspec.Approve, "user:bob")
			result := r.run(call("core__read", args))
			if !result.OK || r.ran() != 1 || !slices.Equal(s.rounds, tc.rounds) || len(r.records.requests) != 1 || r.records.requests[0].row.GivesBack != tc.givesBack || r.records.requests[0].row.Capacity != 1 {
				t.Errorf("got %+v after %d runs in rounds %v, and %d requests", result, r.ran(), s.rounds, len(r.records.requests))
			}
		})
	}
}

// TestStagesOnDemand: the stage of an on-demand step runs if the gate demands the step, or if the stage has a hook.
func TestStagesOnDemand(t *testing.T) {
	for _, tc := range []struct {
		needed, other bool
		runs          int
	}{{false, false, 0}, {true, false, 1}, {false, true, 1}} {
		t.Run(fmt.Sprintf("needed %t, other %t", tc.needed, tc.other), func(t *testing.T) {
			s := &fakeSemaphore{open: true}
			o := rigOptions{policy: freePolicy, own: s.step(), places: &s.places}
			if tc.needed {
				o.policy = limitedPolicy
			}
			if tc.other {
				o.hooks = []hook.Hook{hook.New("other", hook.WillAcquireSemaphore.Do(func(context.Context, *hook.Check) error { return nil }))}
			}
			r := newRig(t, o)
			if result := r.run(call("core__read", args)); !result.OK || len(s.rounds) != tc.runs {
				t.Errorf("got %+v after %d runs of the hook, want %d", result, len(s.rounds), tc.runs)
			}
			if holds := r.records.settled[0].Holds; holds != tc.needed {
				t.Errorf("it has something to give back: %t", holds)
			}
			if ran := strings.Contains(r.stages(), "willAcquireSemaphore"); ran != (tc.runs > 0) {
				t.Errorf("the stage ran: %t", ran)
			}
		})
	}
}

// TestLostPlace: a dispatch that finds its slot expired does not count as an attempt. The gate judges the call again, and the call acquires a
// new slot.
func TestLostPlace(t *testing.T) {
	for _, tc := range []struct {
		name   string
		deny   bool
		times  int
		code   toolspec.Code
		rounds []int
		runs   int
	}{
		{"once", false, 1, "", []int{1, 2}, 1},
		{"twice", false, 2, "", []int{1, 2, 3}, 1},
		{"denied meanwhile", true, 1, toolspec.CodePolicyDenied, []int{1}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &fakeSemaphore{open: true}
			r := newRig(t, rigOptions{policy: limitedPolicy, own: s.step(), places: &s.places})
			r.records.onClaim = func(n int) (contract.Outcome, error) {
				if n > tc.times {
					return "", nil
				}
				if tc.deny {
					r.records.mu.Unlock()
					r.activate(denyingPolicy)
					r.records.mu.Lock()
				}
				return contract.Unleased, nil
			}
			result := r.run(call("core__mail", args))
			if result.ErrorCode != tc.code || r.ran() != tc.runs || !slices.Equal(s.rounds, tc.rounds) || result.Attempts != tc.runs {
				t.Errorf("got %+v after %d runs in rounds %v", result, r.ran(), s.rounds)
			}
		})
	}
}
