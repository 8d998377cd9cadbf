package chaos

import (
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
)

// TestPlanIsOfItsSeed: equal seeds give equal plans, different seeds give different plans, and a
// plan without one kind of fault is otherwise the same.
func TestPlanIsOfItsSeed(t *testing.T) {
	o := Options{Seed: 1, For: time.Minute, Calls: 200, Workers: 2, Every: 2 * time.Second, Faults: Kinds()}
	p := NewPlan(o)
	if !reflect.DeepEqual(p, NewPlan(o)) {
		t.Error("one seed has two plans")
	}
	other := o
	other.Seed = 2
	if q := NewPlan(other); reflect.DeepEqual(p.Calls, q.Calls) || reflect.DeepEqual(p.Faults, q.Faults) {
		t.Error("two seeds have one plan")
	}
	fewer := o
	fewer.Faults = []oracle.FaultKind{oracle.Kill, oracle.Postgres}
	q := NewPlan(fewer)
	var want []PlannedFault
	for _, f := range p.Faults {
		if f.Kind == oracle.Kill || f.Kind == oracle.Postgres {
			want = append(want, f)
		}
	}
	if !reflect.DeepEqual(p.Calls, q.Calls) || !reflect.DeepEqual(q.Faults, want) {
		t.Error("a plan without one kind of fault differs in something else")
	}
}

// TestPlanHasEverything: a long plan has every kind of call, decision and fault, within its bounds.
func TestPlanHasEverything(t *testing.T) {
	o := Options{Seed: 1, For: 10 * time.Minute, Calls: 2000, Workers: 2, Every: 2 * time.Second, Faults: Kinds()}
	p := NewPlan(o)
	tools, faults, slots, ids := map[string]int{}, map[oracle.FaultKind]int{}, map[int]int{}, map[string]bool{}
	var duplicates, conflicts, never, denied, late, twice, contrary, signals int
	last := time.Duration(0)
	for _, c := range p.Calls {
		tools[c.ToolID]++
		ids[c.ToolCallID] = true
		if c.At < last || c.At >= o.For || c.In.BeforeMs >= 1500 || c.In.AfterMs >= 1500 || c.asked() != (c.ToolID == ledger.Ask) {
			t.Errorf("%+v after %s", c, last)
		}
		last = c.At
		if ledger.Fast(c.ToolID) && c.In.BeforeMs+c.In.AfterMs > 1000 {
			t.Errorf("%+v is too long for the local lane", c)
		}
		if c.Duplicate {
			duplicates++
		}
		if c.Conflict {
			conflicts++
		}
		if !c.asked() {
			continue
		}
		if len(c.Decisions) == 0 {
			never++
			continue
		}
		first := c.Decisions[0]
		if first.Verb == toolspec.Deny {
			denied++
		}
		if first.After > 5*time.Second {
			late++
		}
		if first.Signal {
			signals++
		}
		if len(c.Decisions) == 2 {
			if c.Decisions[1].Verb == first.Verb {
				twice++
			} else {
				contrary++
			}
		}
	}
	for what, n := range map[string]int{
		"duplicates": duplicates, "conflicts": conflicts, "never": never, "denied": denied, "late": late, "twice": twice, "contrary": contrary, "signals": signals,
	} {
		if n == 0 {
			t.Errorf("no %s", what)
		}
	}
	if len(ids) != o.Calls {
		t.Errorf("%d ids of %d calls", len(ids), o.Calls)
	}
	for _, s := range mix() {
		if got, want := tools[s.toolID], o.Calls*s.percent/100; got < want*3/4 || got > want*5/4 {
			t.Errorf("%d calls of %s, want about %d", got, s.toolID, want)
		}
	}
	for _, f := range p.Faults {
		faults[f.Kind]++
		slots[f.Slot]++
		if r := timingOf(f.Kind); f.For < r.atLeast || f.For > r.most || f.At >= o.For {
			t.Errorf("%+v", f)
		}
	}
	if kills := faults[oracle.Kill]; kills < 270 || kills > 330 || len(slots) != o.Workers {
		t.Errorf("%d kills in %s, slots %v", kills, o.For, slots)
	}
	for _, kind := range Kinds() {
		if faults[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
}
