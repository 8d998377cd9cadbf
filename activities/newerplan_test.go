package activities_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestNewerPlan: a worker runs no step of a plan with a newer version, and makes no claim for it.
func TestNewerPlan(t *testing.T) {
	by := judge.PlanName(hook.PlanVersion + 1)
	w := newWorld(t, setup{hooks: []hook.Hook{everywhere()}})
	w.records.record.Plan = hook.Plan{V: hook.PlanVersion + 1}
	admitted, err := w.Admit(t.Context(), admitIn())
	if err != nil || admitted.Outcome != contract.NotHere || admitted.By != by || admitted.Failure != nil || !admitted.Recorded || admitted.Plan == nil {
		t.Errorf("admit: %+v, %v", admitted, err)
	}
	w.records.record.Result = &toolspec.Result{OK: true}
	if settled, err := w.Admit(t.Context(), admitIn()); err != nil || settled.Outcome != contract.AlreadySettled {
		t.Errorf("admit of a settled call: %+v, %v", settled, err)
	}
	hydrated, err := w.Hydrate(t.Context(), contract.HydrateIn{ToolID: "core__tool", Args: json.RawMessage(`{}`), PlanVersion: hook.PlanVersion + 1})
	if err != nil || hydrated.Outcome != contract.NotHere || hydrated.By != by {
		t.Errorf("hydrate: %+v, %v", hydrated, err)
	}
	for _, info := range hook.All() {
		v, err := w.Stage(t.Context(), hook.StageInput{Stage: info.Stage, Hooks: []string{"everywhere"}, Facts: w.facts(), PlanVersion: hook.PlanVersion + 1})
		if err != nil || v.Outcome != hook.Missing || v.By != by {
			t.Errorf("%s: %+v, %v", info.Stage, v, err)
		}
	}
	in := w.executeIn()
	in.PlanVersion = hook.PlanVersion + 1
	if got := w.execute(t.Context(), t, in); got.Outcome != contract.NotHere || got.By != by || w.runs != 0 || len(w.records.claims) != 0 {
		t.Errorf("execute: %+v after %d runs with %d claims", got, w.runs, len(w.records.claims))
	}
	in.PlanVersion = hook.PlanVersion
	if got := w.execute(t.Context(), t, in); got.Outcome != contract.Done {
		t.Errorf("a plan of this version: %+v", got)
	}
}

// TestToolsLearnTheEpoch: a tool gets the epoch, with which a service can refuse requests of an earlier run.
func TestToolsLearnTheEpoch(t *testing.T) {
	epoch := 0
	w := newWorld(t, setup{run: func(_ context.Context, _ in, call toolspec.Call) (any, error) { epoch = call.Epoch; return out{}, nil }})
	w.execute(t.Context(), t, w.executeIn())
	if epoch != 3 {
		t.Errorf("epoch %d", epoch)
	}
}
