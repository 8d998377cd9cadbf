package chaos

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// TestStrikes: the route has every point except the answer to the first workflow task, which is
// also the task that closes a read, and those of the claimed lane. Every fault of one call, worker or server has a strike, and no
// strike is listed twice.
func TestStrikes(t *testing.T) {
	for _, p := range append(point.All(), point.Rare()...) {
		if on := rank(p) >= 0; on == (strings.HasPrefix(string(p), "task.") || strings.HasPrefix(string(p), "keep.")) {
			t.Errorf("%s is on the route: %t", p, on)
		}
	}
	seen, kinds := map[Strike]bool{}, map[oracle.FaultKind]bool{}
	for _, s := range Strikes() {
		if seen[s] || rank(s.At) < 0 {
			t.Errorf("%s is listed twice, or its point is not on the route", s)
		}
		seen[s], kinds[s.Kind] = true, true
		if s.Kind != oracle.Late && !slices.Contains(Kinds(), s.Kind) {
			t.Errorf("the random plan has no fault %s", s.Kind)
		}
	}
	// Only a random run uses these faults: crashes of a server take seconds, SIGTERM ends a worker
	// in good order, and ResetFirst and ResetLast stand for a reset to any task.
	random := []oracle.FaultKind{oracle.Term, oracle.Postgres, oracle.Temporal, oracle.ResetAny}
	for _, kind := range Kinds() {
		if kinds[kind] == slices.Contains(random, kind) {
			t.Errorf("%s is aimed at a point: %t", kind, kinds[kind])
		}
	}
}

// TestMeet: Pairs lists pairs that can meet, and no pairs that cannot.
func TestMeet(t *testing.T) {
	all := map[string]bool{}
	for _, p := range Pairs() {
		if all[p.String()] {
			t.Errorf("%s is listed twice", p)
		}
		all[p.String()] = true
	}
	for name, want := range map[string]bool{
		// The defect: the tool has had its effect, and the next claim gets no answer.
		"effect.after/reset-last+claim.before/late":            true,
		"effect.after/reset-last+claim.before/lock":            true,
		"effect.after/reset-last+claim.before/postgres-freeze": true,
		"effect.after/made-up-undispatched+claim.before/late":  true,
		"claim.before/late+claim.before/late":                  true,
		"claim.before/late+effect.after/reset-last":            true,
		"effect.after/kill+check.before/late":                  true,
		"effect.after/kill+settle.before/reset-last":           true,
		"effect.after/terminate+answer.before/kill":            true,
		"decide.after/restart+wait.after/cancel":               true,
		// A reset to the last task does not admit again.
		"effect.after/reset-last+admit.after/late":  false,
		"effect.after/reset-first+admit.after/late": true,
		// Without a lost attempt there is no doubt to check.
		"claim.after/late+check.before/late":   false,
		"check.before/late+settle.before/late": false,
		// A cancelled or terminated call does not start again.
		"effect.after/cancel+claim.before/late":      false,
		"effect.after/terminate+claim.before/late":   false,
		"effect.after/terminate+settle.before/late":  false,
		"claim.after/garbage+claim.after/garbage":    false,
		"settle.after/late+effect.after/reset-first": false,
	} {
		if all[name] != want {
			t.Errorf("Pairs has %s: %t, want %t", name, all[name], want)
		}
	}
}

func TestMatchPairs(t *testing.T) {
	for _, test := range []struct {
		patterns []string
		want     int
		fault    string
	}{
		{nil, len(Pairs()), ""},
		{[]string{"effect.after/reset-last+claim.before/late"}, 1, ""},
		{[]string{"effect.after/reset-*+claim.before/l*", "effect.after/reset-last+claim.before/late"}, 4, ""},
		{[]string{"effect.after/earthquake"}, 0, "no pair is like"},
		{[]string{"["}, 0, "pattern"},
	} {
		pairs, err := MatchPairs(test.patterns...)
		if len(pairs) != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%q: %d pairs, %v; want %d and %q", test.patterns, len(pairs), err, test.want, test.fault)
		}
	}
}

// TestPlanPairs: a plan has each pair the given number of times, all calls of a batch have the same
// fault of a worker or server, and equal seeds give equal plans.
func TestPlanPairs(t *testing.T) {
	plan := func(seed uint64) [][]*pairCall {
		batches, err := planPairs(PairOptions{Pairs: Pairs(), Seed: seed, Calls: 2})
		if err != nil {
			t.Fatal(err)
		}
		return batches
	}
	names := func(batches [][]*pairCall) (names []string) {
		for _, batch := range batches {
			for _, c := range batch {
				names = append(names, fmt.Sprint(c.ToolCallID, c.pair, c.pick))
			}
		}
		return names
	}
	batches := plan(1)
	if !reflect.DeepEqual(names(batches), names(plan(1))) || reflect.DeepEqual(names(batches), names(plan(2))) {
		t.Error("one seed gives two plans")
	}
	calls, ids, tools := map[Pair]int{}, map[string]bool{}, map[string]int{}
	for _, batch := range batches {
		if len(batch) == 0 || len(batch) > batchCalls {
			t.Errorf("a batch of %d calls", len(batch))
		}
		for _, c := range batch {
			calls[c.pair]++
			tools[c.ToolID]++
			ids[c.ToolCallID] = true
			if c.pair.batchKey() != batch[0].pair.batchKey() {
				t.Errorf("%s and %s in one batch", c.pair, batch[0].pair)
			}
			if within(c.pair.First.At, point.WaitBefore, point.DecideAfter) && c.ToolID != ledger.Ask {
				t.Errorf("%s uses %s, which needs no approval", c.pair, c.ToolID)
			}
		}
	}
	for _, pair := range Pairs() {
		if calls[pair] != 2 {
			t.Errorf("%s has %d calls, want 2", pair, calls[pair])
		}
	}
	if len(ids) != 2*len(Pairs()) || tools[ledger.Ask] == 0 || tools[ledger.Send] == 0 {
		t.Errorf("%d ids, tools %v", len(ids), tools)
	}
}

// TestNext: the strikes of a call hit in order, each once, and the second does not hit at the same
// time as the first.
func TestNext(t *testing.T) {
	late := Strike{point.ClaimBefore, oracle.Late}
	c := &pairCall{pair: Pair{late, late}}
	var got []string
	for _, at := range []point.Name{point.AdmitAfter, point.ClaimBefore, point.ClaimAfter, point.ClaimBefore, point.ClaimBefore} {
		strike, ok := c.next(at)
		got = append(got, fmt.Sprintf("%s %t %t %t", strike.At, ok, c.first, c.both))
	}
	want := []string{" false false false", "claim.before true true false", " false true false", "claim.before true true true", " false true true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.spare()
	if strike, ok := c.next(point.ClaimBefore); !ok || strike != late || !c.both {
		t.Error("a strike that did not hit is not returned again")
	}
}

// TestPairReport: a violation counts once for its pair, even if it is reported twice. A strike that
// the server does not know fails the run; a strike at a call that has ended does not.
func TestPairReport(t *testing.T) {
	pairs, err := MatchPairs("effect.after/reset-last+claim.before/l*")
	if err != nil || len(pairs) != 2 {
		t.Fatal(pairs, err)
	}
	o := PairOptions{Pairs: pairs, Calls: 2}
	batches, err := planPairs(o)
	if err != nil {
		t.Fatal(err)
	}
	r := newPairReport(o)
	blamed := batches[0][0]
	blamed.first = true
	blamed.missed(pairs[0].First, serviceerror.NewNotFound("over"))
	blamed.missed(pairs[0].First, errNothingToHit)
	blamed.missed(pairs[0].First, context.DeadlineExceeded)
	verdicts := []oracle.Verdict{{Name: "once", Checked: 2, Violations: []oracle.Violation{{ToolCallID: blamed.ToolCallID, Why: "2 effects"}}}}
	for i, batch := range batches {
		seen := oracle.Snapshot{Calls: make([]oracle.Call, len(batch))}
		if i > 0 {
			verdicts[0].Violations = nil
		}
		r.enter(batch, seen, slices.Clone(verdicts))
	}
	whole := []oracle.Verdict{{Name: "once", Checked: 4, Violations: []oracle.Violation{{ToolCallID: blamed.ToolCallID, Why: "2 effects"}}}}
	r.add(whole, nil, 5)
	r.add([]oracle.Verdict{{Name: "once", Checked: 1}}, nil, 1)
	if r.Calls != 4 || r.First != 1 || r.Both != 0 || r.violations() != 1 || r.Effects != 6 || r.Verdicts[0].Checked != 5 || r.Held() {
		t.Errorf("%+v", r)
	}
	if first := r.Pairs[0]; first.Name != blamed.pair.String() || len(first.Violated) != 1 || first.Violated[0].Oracle != "once" {
		t.Errorf("first in the list is %+v, want the pair that is violated", first)
	}
	if len(r.Failed) != 0 {
		t.Errorf("failed: %v", r.Failed)
	}
	clean := newPairReport(o)
	blamed.missed(pairs[0].First, serviceerror.NewUnimplemented("not implemented"))
	clean.enter(batches[0], oracle.Snapshot{Calls: make([]oracle.Call, len(batches[0]))}, nil)
	if clean.Held() || len(clean.Failed) != 1 || !strings.Contains(clean.Failed[0], "not implemented") {
		t.Errorf("a report with a failed strike passes: %+v", clean)
	}
}
