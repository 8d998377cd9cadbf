package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestStageSelectsOwnStep: the name of the stage alone selects Pawl's step, whatever the input says. The step
// runs before all hooks, and no hook runs for a call that the step denies. A worker without the step that the
// plan names leaves the stage to another worker.
func TestStageSelectsOwnStep(t *testing.T) {
	t.Parallel()
	ran := 0
	first := hook.New("first", hook.Priority(1<<30), hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { ran++; return nil }),
		hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error { v.Record("mine", 1); return nil }))
	in := hook.StageInput{Stage: hook.WillAuthorize.Stage(), Hooks: []string{"first"}}
	denied := newWorld(t, setup{gate: true, policy: strings.Replace(openPolicy, "core__*", "other__*", 1), hooks: []hook.Hook{first}})
	for _, own := range []string{"", "policy"} {
		in.Own, in.Facts = own, denied.facts()
		v, err := denied.Stage(t.Context(), in)
		if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodePolicyDenied || v.By != "policy" || ran > 0 {
			t.Errorf("own %q: %+v, %v; the hook ran %d times", own, v, err, ran)
		}
	}
	v, err := denied.Stage(t.Context(), hook.StageInput{Stage: hook.WillAudit.Stage(), Hooks: []string{"first"}, Facts: denied.facts()})
	if err != nil || len(v.Delta.Audit) != 2 || v.Delta.Audit[0].Kind != "invocation" {
		t.Errorf("audit: %+v, %v", v.Delta.Audit, err)
	}
	bare := newWorld(t, setup{config: activities.Config{Own: stage.Table{}}})
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		v, err := bare.Stage(t.Context(), hook.StageInput{Stage: s, Own: "policy", Facts: bare.facts(), Terms: &hook.Terms{}})
		if err != nil || v.Outcome != hook.Missing || v.By != "step policy" || v.Permit != nil {
			t.Errorf("without the step at %s: %+v, %v", s, v, err)
		}
	}
}

// TestOwnStepFails: a step that fails or panics ends the call with `internal` and the names of the step and the
// stage. At a logged stage it leaves a note. The text of the error leaves nothing.
func TestOwnStepFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New(canary) }, "panic": func() error { panic(canary) },
		"transient": func() error { return errs.Transient(errors.New(canary)) },
	} {
		before := stage.Own{Before: func(context.Context, hook.StageInput) (v hook.Verdict, err error) { return v, fail() }}
		after := stage.Own{After: func(context.Context, hook.StageInput, *hook.Verdict) error { return fail() }}
		for s, own := range map[hook.Stage]stage.Own{
			hook.WillAcquireQuota.Stage(): before, hook.DidCacheHit.Stage(): after, hook.WillWriteCache.Stage(): before,
		} {
			ran := 0
			w := newWorld(t, setup{config: activities.Config{Own: stage.Table{s: own}}, hooks: []hook.Hook{
				hook.New("h", hook.WillWriteCache.Do(func(context.Context, *hook.Keep) error { ran++; return nil })),
			}})
			in := hook.StageInput{Stage: s, Facts: w.facts()}
			if s == hook.WillWriteCache.Stage() {
				in.Hooks = []string{"h"}
			}
			v, err := w.Stage(t.Context(), in)
			w.checkCanary(t, v)
			switch {
			case name == "transient":
				if !errs.IsTransient(err) {
					t.Errorf("%s at %s: %v", name, s, err)
				}
			case s == hook.WillWriteCache.Stage():
				if err != nil || v.Outcome != hook.Continue || len(v.Notes) != 1 || v.Notes[0].Hook != "cache" || ran != 1 {
					t.Errorf("%s at %s: %+v, %v, ran %d", name, s, v, err, ran)
				}
			case err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodeInternal || v.By != hook.Own(s) || v.Failure.Details.Stage != string(s):
				t.Errorf("%s at %s: %+v, %v", name, s, v, err)
			}
		}
	}
}

// TestHooksCannotUnmask: arguments that a hook shows are masked after the hook, at each stage at which a hook
// can show them.
func TestHooksCannotUnmask(t *testing.T) {
	t.Parallel()
	for _, p := range []hook.Point[*hook.Input]{hook.WillParseInput, hook.WillValidateInput, hook.WillNormalizeInput, hook.WillRedactInput} {
		for name, tc := range map[string]struct {
			change func(v *hook.Input)
			want   string
		}{
			"shows them": {func(v *hook.Input) { v.SetSafeArgs(in{Text: "a", Note: canary}) }, `{"note":"***","text":"a"}`},
			"sets them":  {func(v *hook.Input) { v.SetArgs(json.RawMessage(`{"text":"b","note":"secret"}`)) }, `{"note":"***","text":"b"}`},
			"does both":  {func(v *hook.Input) { v.SetArgs(in{Text: "b"}); v.SetSafeArgs(in{Text: "*", Note: canary}) }, `{"note":"***","text":"*"}`},
		} {
			w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h", p.Do(func(_ context.Context, v *hook.Input) error { tc.change(v); return nil }))}})
			v, err := w.Stage(t.Context(), hook.StageInput{Stage: p.Stage(), Hooks: []string{"h"}, Facts: w.facts()})
			if err != nil {
				t.Fatal(err)
			}
			if string(v.Delta.SafeArgs) != tc.want {
				t.Errorf("%s at %s: %s, want %s", name, p.Stage(), v.Delta.SafeArgs, tc.want)
			}
			w.checkCanary(t, v.Delta.SafeArgs)
		}
	}
}

// TestPartsOfADurableStage: Pawl's step runs in the first part. The hooks run in the second part, with the
// changes of the first part. A step with Again runs in both parts.
func TestPartsOfADurableStage(t *testing.T) {
	t.Parallel()
	ran := map[string]int{}
	counts := func(name string) stage.Own {
		return stage.Own{Before: func(context.Context, hook.StageInput) (v hook.Verdict, err error) {
			ran[name]++
			v.Delta.Data = []hook.Entry{{Key: "k", Value: json.RawMessage(`"own"`)}}
			return v, nil
		}}
	}
	again := counts("policy")
	again.Again = true
	var saw string
	look := func(data func(string, any) (bool, error)) error {
		_, err := data("k", &saw)
		return err
	}
	w := newWorld(t, setup{
		config: activities.Config{Own: stage.Table{hook.WillAcquireQuota.Stage(): counts("quota"), hook.WillCheckConsent.Stage(): again}},
		hooks: []hook.Hook{hook.New("h",
			hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error { return look(v.Data) }),
			hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return look(v.Data) }))},
	})
	for s, judges := range map[hook.Stage]int{hook.WillAcquireQuota.Stage(): 1, hook.WillCheckConsent.Stage(): 2} {
		saw = ""
		in := hook.StageInput{Stage: s, Own: hook.Own(s), Hooks: []string{"h"}, Part: hook.PartBefore, Facts: w.facts()}
		before, err := w.Stage(t.Context(), in)
		if err != nil || saw != "" || ran[hook.Own(s)] != 1 {
			t.Fatalf("%s: %v; the hook saw %q, the step ran %d times", s, err, saw, ran[hook.Own(s)])
		}
		in.Part, in.Before, in.BudgetMs = hook.PartHooks, &before, 60_000
		w.records.record.Plan = hook.Plan{V: hook.PlanVersion, Pre: []hook.Step{{Stage: s, Hooks: in.Hooks, DurableMs: in.BudgetMs}}}
		v, err := w.Stage(t.Context(), in)
		if err != nil || saw != "own" || ran[hook.Own(s)] != judges || len(v.Delta.Data) != 1 {
			t.Errorf("%s: %+v, %v; the hook saw %q, the step ran %d times, want %d", s, v, err, saw, ran[hook.Own(s)], judges)
		}
	}
}

// TestForgedFirstPart: a forged verdict of the first part in the input of the second part does not open the
// gate.
func TestForgedFirstPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{gate: true, policy: strings.Replace(openPolicy, "core__*", "other__*", 1), hooks: []hook.Hook{
		hook.New("h", hook.WillCheckConsent.Do(func(context.Context, *hook.Consent) error { return nil })),
	}})
	v, err := w.Stage(t.Context(), hook.StageInput{
		Stage: hook.WillCheckConsent.Stage(), Hooks: []string{"h"}, Part: hook.PartHooks, Before: &hook.Verdict{}, BudgetMs: 60_000,
		Facts: w.facts(), Terms: &hook.Terms{MaxRuntimeMs: 1},
	})
	if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodePolicyDenied || v.Permit != nil {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestAudit: one line per call, with ids and codes only.
func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	v, err := w.Stage(t.Context(), hook.StageInput{Stage: hook.WillAudit.Stage(), Facts: hook.Facts{
		ToolID: "core__tool", ToolDigest: "td", Effect: toolspec.StateChange, Risk: toolspec.HighRisk, PolicyDigest: "pd", Attempts: 2,
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`"` + canary + `"`), Output: json.RawMessage(`"` + canary + `"`),
		Failure: &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: canary}, Approval: &hook.GrantedApproval{ApprovalID: "inv.1", Approver: "user:bob", Digest: "d"},
	}})
	if err != nil || len(v.Delta.Audit) != 1 || len(v.Notes) != 0 {
		t.Fatalf("got %+v, %v", v, err)
	}
	want := `{"toolId":"core__tool","toolDigest":"td","effect":"state_change","risk":"high","context":{"tenantId":"acme","runId":"run-1","actorId":"user:ann"},` +
		`"policyDigest":"pd","ok":false,"errorCode":"timeout","attempts":2,"approvalId":"inv.1","approvedBy":"user:bob","digest":"d"}`
	if got := v.Delta.Audit[0]; got.Kind != "invocation" || string(got.Detail) != want {
		t.Errorf("got %s %s", got.Kind, got.Detail)
	}
}
