package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// TestConditions: a rule with a condition on the arguments does not decide at willAuthorize. It decides at willCheckConsent, after the arguments
// were validated, and again after an approver has edited the arguments.
func TestConditions(t *testing.T) {
	const rules = testPolicy + `    rules:
      - {tool: core__*, when: args.text.startsWith("/etc"), decision: deny, message: not there}
      - {tool: core__*, when: has(args.mode) && args.mode == "ask", decision: require_approval}
`
	for name, tc := range map[string]struct {
		args, rule string
		code       toolspec.Code
		edit       string
	}{
		"holds":         {args: `{"text":"/etc/x"}`, code: toolspec.CodePolicyDenied, rule: "tenants.acme.rules[0]"},
		"does not hold": {args: `{"text":"/tmp/x"}`},
		"edited":        {args: `{"text":"/tmp/x","mode":"ask"}`, edit: `{"text":"/etc/x"}`, code: toolspec.CodePolicyDenied, rule: "tenants.acme.rules[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: rules})
			if tc.edit != "" {
				r.decideAfter(time.Second, 1, toolspec.Edit, "user:bob", func(d *toolspec.Decision) { d.EditedArgs = []byte(tc.edit) })
			}
			result := r.run(call("core__read", tc.args))
			if result.ErrorCode != tc.code || (r.ran() == 1) != (tc.code == "") {
				t.Fatalf("%+v, ran %d times", result, r.ran())
			}
			if tc.code != "" && (result.SafeMessage != "not there" || result.Details.Rule != tc.rule) {
				t.Errorf("%+v %+v", result, result.Details)
			}
			if stages := r.stages(); !strings.Contains(stages, "willAuthorize: ok") || !strings.Contains(stages, "willCheckConsent") {
				t.Errorf("stages:\n%s", stages)
			}
		})
	}
}
