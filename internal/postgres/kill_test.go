package postgres_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func (b bench) killOn(scope policies.KillScope) policies.KillSwitch {
	b.t.Helper()
	k, err := b.KillOn(b.t.Context(), scope, "why not", "user:ops")
	if err != nil {
		b.t.Fatal(err)
	}
	return k
}

// TestKillSwitches: the statements that a call runs anyway return the kill switches that cover it.
func TestKillSwitches(t *testing.T) {
	b := open(t)
	for name, c := range map[string]struct {
		scope policies.KillScope
		finds bool
		// stops says whether the kill switch prevents the claim of a dispatch of a tool that changes state.
		stops bool
	}{
		"everything":     {policies.KillScope{Tool: "*"}, true, true},
		"the tenant":     {policies.KillScope{TenantID: tenant, Tool: "*"}, true, true},
		"another tenant": {policies.KillScope{TenantID: "other", Tool: "*"}, false, false},
		"the tool":       {policies.KillScope{TenantID: tenant, Tool: "core__write_file"}, true, true},
		"a prefix":       {policies.KillScope{Tool: "core__wr*"}, true, true},
		"half a name":    {policies.KillScope{Tool: "core__wr"}, false, false},
		"no wildcard":    {policies.KillScope{Tool: "core___rite*"}, false, false},
		"the effect":     {policies.KillScope{Tool: "*", Effect: toolspec.StateChange}, true, true},
		"another effect": {policies.KillScope{Tool: "*", Effect: toolspec.ReadOnly}, true, false}, // the gate compares it with the tool of that moment
	} {
		k := b.killOn(c.scope)
		call := "call_" + name
		record := b.admitted(callOf(call, nil))
		look := b.review(review{LookRow: approval.LookRow{InvocationID: id(call), TenantID: tenant, Epoch: record.Epoch, Gate: 1}})
		want := []hook.Kill{{ID: k.ID, Effect: c.scope.Effect, Reason: "why not"}}
		if !c.finds {
			want = nil
		}
		if !slices.Equal(record.Kills, want) || !slices.Equal(look.Kills, want) {
			t.Errorf("%s: admit found %+v, the gate's round %+v; want %+v", name, record.Kills, look.Kills, want)
		}
		claim := claimRow(call, record.Epoch, 1)
		claim.Effect = toolspec.StateChange
		wanted := contract.Done
		if c.stops {
			wanted = contract.Killed
		}
		if got := b.claim(claim); got != wanted {
			t.Errorf("%s: the claim was answered %q, want %q", name, got, wanted)
		}
		if lifted, found, err := b.KillOff(t.Context(), k.ID, policies.KillScope{}, "user:bob"); !found || err != nil || lifted.OffBy != "user:bob" || lifted.OffAt == nil {
			t.Errorf("%s: off: %+v, %v, %v", name, lifted, found, err)
		}
		if look := b.review(review{LookRow: approval.LookRow{InvocationID: id(call), TenantID: tenant, Epoch: record.Epoch, Gate: 2}}); look.Kills != nil {
			t.Errorf("%s: found %+v after it was off", name, look.Kills)
		}
		if claim.Dispatch = 2; c.stops && b.claim(claim) != contract.Done {
			t.Errorf("%s: no claim after it was off", name)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM claims WHERE dispatch = 1`); n != 4 {
		t.Errorf("%d dispatches were claimed, want 4: where the switch does not stop them", n)
	}
}

// TestKillSwitchOnce: turning a kill switch on or off twice has the effect of doing it once. The record keeps who did it, and every call that the switch
// covers gets a recheck.
func TestKillSwitchOnce(t *testing.T) {
	b := open(t)
	b.admitted(callOf("waits", nil))
	scope := policies.KillScope{TenantID: tenant, Tool: "core__*", Effect: toolspec.StateChange}
	first := b.killOn(scope)
	if got := b.rechecked(); !first.Changed || first.OnBy != "user:ops" || first.OnAt.IsZero() || !slices.Equal(got, []string{"waits"}) {
		t.Errorf("%+v told %v", first, got)
	}
	if n := value[int](b, `SELECT count(*) FROM rechecks WHERE tenant_id = 'acme' AND tool = 'core__*' AND effect = 'state_change'`); n != 1 {
		t.Errorf("%d second scans are due", n)
	}
	if again := b.killOn(scope); again.Changed || again.ID != first.ID {
		t.Errorf("on again: %+v", again)
	}
	other := b.killOn(policies.KillScope{Tool: "core__*"})
	if list, err := b.KillSwitches(t.Context(), tenant, false); err != nil || len(list) != 2 || list[0].ID != other.ID {
		t.Errorf("%+v, %v", list, err)
	}
	if _, found, err := b.KillOff(t.Context(), 0, scope, "user:bob"); !found || err != nil {
		t.Errorf("off: %v, %v", found, err)
	}
	if _, found, err := b.KillOff(t.Context(), first.ID, scope, "user:bob"); found || err != nil {
		t.Errorf("off again: %v, %v", found, err)
	}
	if list, err := b.KillSwitches(t.Context(), "other", true); err != nil || len(list) != 1 {
		t.Errorf("another tenant sees %+v, %v", list, err)
	}
	if list, err := b.KillSwitches(t.Context(), "", true); err != nil || len(list) != 2 || list[1].OffBy != "user:bob" {
		t.Errorf("%+v, %v", list, err)
	}
	// A switch that is turned on again is a new switch.
	if anew := b.killOn(scope); !anew.Changed || anew.ID == first.ID {
		t.Errorf("on anew: %+v", anew)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind IN ('kill_switch_on', 'kill_switch_off') AND detail ->> 'by' IN ('user:ops', 'user:bob')`); n != 4 {
		t.Errorf("%d events, want 4", n)
	}
}
