package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestFeatureFlags: a feature that is off ends the call after consent and before the call acquires capacity (LC-09). A feature that is on lets
// the call continue. The stage does not run for tools without a feature.
func TestFeatureFlags(t *testing.T) {
	for _, tc := range []struct {
		name, features string
		stage          string
		quota          bool
		code           toolspec.Code
	}{
		{"off", "{writes: {tools: [core__read], enabled: false, message: not today}}", "willCheckFeatureFlags: aborted\n", false, toolspec.CodeAborted},
		{"on", "{writes: {tools: [core__read], enabled: true}}", "willCheckFeatureFlags: ok\n", true, ""},
		{"of another tool", "{writes: {tools: [core__write], enabled: false}}", "", true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := false
			quota := hook.New("later", hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { asked = true; return nil }))
			r := newRig(t, rigOptions{policy: testPolicy + "    features: " + tc.features + "\n", hooks: []hook.Hook{quota}})
			result := r.run(call("core__read", `{"text":"x"}`))
			if result.ErrorCode != tc.code || asked != tc.quota || (r.ran() == 1) != (tc.code == "") {
				t.Errorf("%+v, quota asked %v, ran %d times", result, asked, r.ran())
			}
			if tc.code != "" && (result.SafeMessage != "not today" || result.Details.Code != "feature_off" || result.Details.Rule != "tenants.acme.features.writes") {
				t.Errorf("%+v %+v", result, result.Details)
			}
			stages := r.stages()
			if tc.stage == "" && strings.Contains(stages, "willCheckFeatureFlags") || !strings.Contains(stages, tc.stage) {
				t.Errorf("stages:\n%s", stages)
			}
			if tc.stage != "" && strings.Index(stages, "willCheckConsent") > strings.Index(stages, tc.stage) {
				t.Errorf("not after consent:\n%s", stages)
			}
		})
	}
}
