package hooks_test

import (
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/activities/hooks"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const flags = `    roles: {beta: [user:bob]}
    features:
      on: {tools: ["*"], enabled: true}
      off: {tools: [core__tool], enabled: false, message: not today}
      partly: {tools: [core__other], enabled: true, roles: [beta]}
`

// TestFeatureHook: a flag that is off stops the call, and one that is on for the actor does not.
func TestFeatureHook(t *testing.T) {
	for _, tc := range []struct {
		name, tool, actor, rule, message string
	}{
		{"off", "core__tool", "user:ann", "tenants.acme.features.off", "not today"},
		{"on", "core__third", "user:ann", "", ""},
		{"on for the role", "core__other", "user:bob", "", ""},
		{"off without the role", "core__other", "user:ann", "tenants.acme.features.partly", "the feature partly is off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := parse(t, flags)
			r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{hooks.Features(policies{p.Digest(): p})}, nil)
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillCheckFeatureFlags.Stage(), Hooks: []string{"features"}, Facts: hook.Facts{
				ToolID: tc.tool, PolicyDigest: p.Digest(), Context: toolspec.Context{TenantID: "acme", ActorID: tc.actor},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if tc.rule == "" {
				if v.Outcome != hook.Continue {
					t.Fatalf("%+v", v)
				}
				return
			}
			if f := v.Failure; f == nil || f.Code != toolspec.CodeAborted || f.SafeMessage != tc.message || f.Details.Code != "feature_off" || f.Details.Rule != tc.rule {
				t.Errorf("%+v", v.Failure)
			}
		})
	}
}

// TestFeaturesAreNeededWhereThereAreSome: the stage is skipped for calls on which no flag bears.
func TestFeaturesAreNeededWhereThereAreSome(t *testing.T) {
	stage := hook.WillCheckFeatureFlags.Stage()
	v, _ := gate(t, parse(t, flags), hook.WillAuthorize.Stage(), nil)
	if !slices.Contains(v.Delta.Needs, stage) {
		t.Errorf("needs %v", v.Delta.Needs)
	}
	v, _ = gate(t, parse(t, "    features: {x: {tools: [core__other], enabled: false}}\n"), hook.WillAuthorize.Stage(), nil)
	if slices.Contains(v.Delta.Needs, stage) {
		t.Errorf("needs %v", v.Delta.Needs)
	}
	r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{hooks.Features(policies{})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := hook.Step{Stage: stage, Phase: hook.PhaseConsent, Hooks: []string{"features"}, OnDemand: true}
	has := func(s hook.Step) bool { return reflect.DeepEqual(s, want) }
	if steps := r.Steps(hook.Pre(), "core__tool"); !slices.ContainsFunc(steps, has) {
		t.Errorf("%+v", steps)
	}
}
