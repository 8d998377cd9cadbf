package envelope

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestAdoptKeepsTheRestriction: a tool that became less safe stays in one attempt of the regular lane, although the record still has the
// plan of the tool as it was.
func TestAdoptKeepsTheRestriction(t *testing.T) {
	t.Parallel()
	recorded := contract.AdmitOut{Plan: &hook.Plan{Lane: hook.LocalLane, Repeatable: true, MaxAttempts: 3, ToolDigest: "old"}}
	c := &Call{}
	c.Adopt(recorded)
	if p := c.Plan(); p.Lane != hook.LocalLane || !p.Repeatable || c.MaxAttempts() != 3 {
		t.Fatalf("the recorded plan is %+v", p)
	}
	c.RestrictPlan()
	for range 2 {
		if p := c.Plan(); p.Lane != hook.RegularLane || p.Repeatable || c.MaxAttempts() != 1 || p.ToolDigest != "old" {
			t.Errorf("the restricted plan is %+v", p)
		}
		c.Adopt(recorded)
	}
	if recorded.Plan.Lane != hook.LocalLane {
		t.Error("the record was changed")
	}
}

// TestGateStateOfTheConnection: the call knows the connection that it asked for, and whether it may have it.
func TestGateStateOfTheConnection(t *testing.T) {
	t.Parallel()
	asked, known := &hook.Connection{Requested: true}, &hook.Connection{Generation: 7, Status: "active"}
	for name, tc := range map[string]struct {
		asked, read *hook.Connection
		want        *hook.Connection
	}{
		"none":                      {nil, nil, nil},
		"none, and a row":           {nil, known, nil},
		"one that does not exist":   {asked, nil, &hook.Connection{Requested: true}},
		"one that exists":           {asked, known, &hook.Connection{Requested: true, Generation: 7, Status: "active"}},
		"one that was not asked of": {&hook.Connection{}, known, &hook.Connection{Generation: 7, Status: "active"}},
	} {
		c := &Call{admitted: contract.AdmitOut{Connection: tc.asked}}
		c.SetGateState("p", nil, &hook.Connection{Generation: 1})
		c.SetGateState("p", nil, tc.read)
		got := c.Connection()
		if (got == nil) != (tc.want == nil) || got != nil && (got.Requested != tc.want.Requested || got.Generation != tc.want.Generation || got.Status != tc.want.Status) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
