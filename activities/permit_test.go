package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/internal/workerkey/workerkeytest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestPermit: an attempt runs only the call that the gate of this run has allowed. For another call it makes no
// claim and runs no hook.
func TestPermit(t *testing.T) {
	foreign := func(in *contract.ExecuteIn) { in.Facts.Submitter = &hook.Submitter{KeyID: "made up"} }
	for name, tc := range map[string]struct {
		change func(*contract.ExecuteIn)
		want   contract.Outcome
	}{
		"as it was judged":          {func(*contract.ExecuteIn) {}, contract.Done},
		"a later attempt":           {func(in *contract.ExecuteIn) { in.Facts.Attempt, in.Facts.Round, in.Dispatch, in.Epoch = 2, 2, 9, 9 }, contract.Done},
		"less time and room":        {func(in *contract.ExecuteIn) { in.MaxRuntimeMs, in.MaxResultBytes = 1000, 1000 }, contract.Done},
		"under a later policy":      {func(in *contract.ExecuteIn) { in.Facts.PolicyDigest = "later" }, contract.Done},
		"no permit":                 {func(in *contract.ExecuteIn) { in.Permit = json.RawMessage(`{}`) }, contract.Unpermitted},
		"no JSON":                   {func(in *contract.ExecuteIn) { in.Permit = json.RawMessage(`x`) }, contract.Unpermitted},
		"other arguments":           {func(in *contract.ExecuteIn) { in.Facts.Args = json.RawMessage(`{"text":"other"}`) }, contract.Unpermitted},
		"another tenant":            {func(in *contract.ExecuteIn) { in.Facts.Context.TenantID = "globex" }, contract.Unpermitted},
		"another actor":             {func(in *contract.ExecuteIn) { in.Facts.Context.ActorID = "user:eve" }, contract.Unpermitted},
		"another connection":        {func(in *contract.ExecuteIn) { in.Facts.Context.ConnectionID = "conn-2" }, contract.Unpermitted},
		"a subject":                 {func(in *contract.ExecuteIn) { in.Facts.Context.SubjectID = "user:ceo" }, contract.Unpermitted},
		"somebody who vouches":      {foreign, contract.Unpermitted},
		"another call":              {func(in *contract.ExecuteIn) { in.Facts.InvocationID = "other" }, contract.Unpermitted},
		"another effect":            {func(in *contract.ExecuteIn) { in.Facts.Effect = toolspec.ReadOnly }, contract.Unpermitted},
		"an approval":               {func(in *contract.ExecuteIn) { in.Facts.Approval = &hook.GrantedApproval{ApprovalID: "inv.1"} }, contract.Unpermitted},
		"more time":                 {func(in *contract.ExecuteIn) { in.MaxRuntimeMs++ }, contract.Unpermitted},
		"more room":                 {func(in *contract.ExecuteIn) { in.MaxResultBytes++ }, contract.Unpermitted},
		"may be repeated":           {func(in *contract.ExecuteIn) { in.Once = true }, contract.Unpermitted},
		"without its hooks":         {func(in *contract.ExecuteIn) { in.WillExecute = nil }, contract.Unpermitted},
		"in the local lane":         {func(in *contract.ExecuteIn) { in.Dispatch = 0 }, contract.Unpermitted},
		"a signature of other keys": {nil, contract.Unpermitted},
	} {
		t.Run(name, func(t *testing.T) {
			hooks := 0
			counting := hook.New("counting", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { hooks++; return nil }))
			w := newWorld(t, setup{hooks: []hook.Hook{counting}})
			in := w.executeIn()
			in.WillExecute = []string{"counting"}
			in.Permit = w.permit(t.Context(), in.Facts, in.Terms)
			if tc.change == nil {
				in.Permit = newWorld(t, setup{}).permit(t.Context(), in.Facts, in.Terms)
			} else {
				tc.change(&in)
			}
			got, err := w.Activities.Execute(as(t.Context(), false), in)
			if err != nil || got.Outcome != tc.want {
				t.Errorf("got %+v, %v", got, err)
			}
			ran := map[bool]int{true: 1}[tc.want == contract.Done]
			if w.runs != ran || hooks != ran || len(w.records.claims) != ran {
				t.Errorf("the tool ran %d times, its hook %d, with %d claims", w.runs, hooks, len(w.records.claims))
			}
		})
	}
}

// TestPermitOfAnotherRun: after a reset, another run has the verdict of the gate. This run must ask the gate
// again.
func TestPermitOfAnotherRun(t *testing.T) {
	w := newWorld(t, setup{})
	in := w.executeIn()
	in.Permit = w.permit(t.Context(), in.Facts, in.Terms)
	for _, e := range []contract.Execution{{RunID: "another run"}, {}} {
		if got, err := w.Activities.Execute(contract.WithExecution(t.Context(), e), in); err != nil || got.Outcome != contract.Unpermitted || got.ClaimID != "" || w.runs != 0 {
			t.Errorf("%+v: got %+v, %v", e, got, err)
		}
	}
}

// TestWhatIsPermitted: only the last stage of the gate gives a permit, and only if it lets the call continue.
func TestWhatIsPermitted(t *testing.T) {
	abort := func(v interface {
		Abort(string, ...hook.AbortOption) error
	}) error {
		return v.Abort("no")
	}
	w := newWorld(t, setup{hooks: []hook.Hook{hook.New("no", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return abort(v) }))}})
	terms := &hook.Terms{MaxRuntimeMs: 1000}
	for name, tc := range map[string]struct {
		in   hook.StageInput
		want bool
	}{
		"it goes on":             {hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Terms: terms}, true},
		"it does not":            {hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Terms: terms, Hooks: []string{"no"}}, false},
		"in the local lane":      {hook.StageInput{Stage: hook.WillCheckConsent.Stage()}, false},
		"ahead of the arguments": {hook.StageInput{Stage: hook.WillAuthorize.Stage(), Terms: terms}, false},
		"behind the gate":        {hook.StageInput{Stage: hook.WillNormalizeInput.Stage(), Terms: terms}, false},
	} {
		tc.in.Facts = w.facts()
		v, err := w.Activities.Stage(as(t.Context(), true), tc.in)
		if err != nil || (v.Permit != nil) != tc.want {
			t.Errorf("%s: got %+v, %v", name, v, err)
		}
	}
}

// TestKeysAway: without keys no tool runs and no permit is given, until the database answers again.
func TestKeysAway(t *testing.T) {
	store := &workerkeytest.Store{}
	w := newWorld(t, setup{config: activities.Config{Keys: workerkey.New(store)}})
	in := w.executeIn()
	in.Permit = w.permit(t.Context(), in.Facts, in.Terms)
	store.Away = errs.Transient(errors.New(canary))
	w.Activities = newWorld(t, setup{config: activities.Config{Keys: workerkey.New(store)}}).Activities // a worker that has no keys in memory yet
	got, err := w.Activities.Execute(as(t.Context(), false), in)
	if err != nil || got.Outcome != contract.Undispatched || got.ClaimID != "" || w.runs != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	v, err := w.Activities.Stage(as(t.Context(), true), hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Facts: in.Facts, Terms: &in.Terms})
	if !errs.IsTransient(err) {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestRegularStages: a stage runs as a regular activity only if it is in the recorded plan of a call that the
// execution owns. If the plan does not have it, the call waits: another admit would find the same plan, so the call would
// try again without end.
func TestRegularStages(t *testing.T) {
	stage := hook.WillNormalizeInput.Stage()
	planned := hook.Plan{V: hook.PlanVersion, Pre: []hook.Step{{Stage: stage, Hooks: []string{"h"}, DurableMs: 1000}}}
	for name, tc := range map[string]struct {
		change func(*hook.StageInput, *world)
		want   hook.Outcome
	}{
		"as planned":       {func(*hook.StageInput, *world) {}, hook.Continue},
		"another's":        {func(_ *hook.StageInput, w *world) { w.records.foreign = true }, hook.Superseded},
		"other hooks":      {func(in *hook.StageInput, w *world) { w.records.record.Plan.Pre[0].Hooks = []string{"h", "i"} }, hook.Missing},
		"not durable":      {func(in *hook.StageInput, w *world) { w.records.record.Plan.Pre[0].DurableMs = 0 }, hook.Missing},
		"not in the plan":  {func(in *hook.StageInput, w *world) { w.records.record.Plan.Pre = nil }, hook.Missing},
		"the whole stage":  {func(in *hook.StageInput, w *world) { in.Part = hook.WholeStage }, hook.Missing},
		"Pawl's part":      {func(in *hook.StageInput, w *world) { in.Part = hook.PartBefore }, hook.Missing},
		"without a budget": {func(in *hook.StageInput, w *world) { in.BudgetMs, w.records.foreign = 0, true }, hook.Superseded},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			w := newWorld(t, setup{hooks: []hook.Hook{durableHook(func(context.Context, *hook.Input) error { runs++; return nil })}})
			w.records.record.Plan = planned
			w.records.record.Plan.Pre = append([]hook.Step(nil), planned.Pre...)
			in := hook.StageInput{Stage: stage, Hooks: []string{"h"}, Part: hook.PartHooks, BudgetMs: 1000, Facts: w.facts()}
			tc.change(&in, w)
			v, err := w.Activities.Stage(as(t.Context(), false), in)
			if err != nil || v.Outcome != tc.want || (runs == 1) != (tc.want == hook.Continue) {
				t.Errorf("got %+v, %v after %d runs", v, err, runs)
			}
			asked := w.records.owned
			if len(asked) != 1 || asked[0].InvocationID != "inv" || asked[0].Context.TenantID != "acme" || asked[0].ToolID != "core__tool" {
				t.Errorf("the record was asked for %+v", asked)
			}
		})
	}
}

// TestAccept: an answer without the receipt of a worker does not count, and is recorded as forged.
func TestAccept(t *testing.T) {
	store := &workerkeytest.Store{}
	w := newWorld(t, setup{config: activities.Config{Keys: workerkey.New(store)}})
	answer := []byte("digest")
	receipt, err := workerkey.New(store).Sign(t.Context(), answer) // another worker
	if err != nil {
		t.Fatal(err)
	}
	other, _ := workerkeytest.New().Sign(t.Context(), answer)
	for _, tc := range []struct {
		name, receipt string
		answer        []byte
		genuine       bool
	}{
		{"a worker's", receipt, answer, true},
		{"another answer", receipt, []byte("other"), false},
		{"none", "", answer, false},
		{"of other keys", other, answer, false},
		{"made up", "1.AAAA", answer, false},
	} {
		w.records.forged = nil
		got, err := w.Accept(as(t.Context(), true), contract.AcceptIn{
			InvocationID: "inv", TenantID: "acme", Activity: "execute", Answer: tc.answer, Receipt: tc.receipt,
		})
		if err != nil || got.Genuine != tc.genuine || (len(w.records.forged) == 0) != tc.genuine {
			t.Errorf("%s: got %+v, %v; noted %+v", tc.name, got, err, w.records.forged)
		}
	}
}

// TestClaimID: each execution makes its own claim id, whatever its input is.
func TestClaimID(t *testing.T) {
	w := newWorld(t, setup{})
	in := w.executeIn()
	seen := map[string]bool{}
	for range 10 {
		got, err := w.Execute(t.Context(), in)
		if err != nil || len(got.ClaimID) < 26 || seen[got.ClaimID] {
			t.Errorf("got %+v, %v", got, err)
		}
		seen[got.ClaimID] = true
	}
}
