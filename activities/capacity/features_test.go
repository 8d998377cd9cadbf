package capacity_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const flags = `    roles: {beta: [user:bob]}
    features:
      on: {tools: ["*"], enabled: true}
      off: {tools: [core__tool], enabled: false, message: not today}
      partly: {tools: [core__other], enabled: true, roles: [beta]}
`

// TestFeatures: a feature that is off stops the call. A feature that is on for the actor does not.
func TestFeatures(t *testing.T) {
	for _, tc := range []struct {
		name, tool, actor, rule, message string
	}{
		{"off", "core__tool", "user:ann", "tenants.acme.features.off", "not today"},
		{"on", "core__third", "user:ann", "", ""},
		{"on for the role", "core__other", "user:bob", "", ""},
		{"off without the role", "core__other", "user:ann", "tenants.acme.features.partly", "the feature partly is off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := judgetest.Parse(t, flags)
			stage := hook.WillCheckFeatureFlags.Stage()
			v, err := capacity.Features(judgetest.Policies{p.Digest(): p})[stage].Before(t.Context(), hook.StageInput{Stage: stage, Facts: hook.Facts{
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
