package gate_test

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestEditedArgumentsThatEscapeTheTargetToolsRules: a rule still denies arguments that an approver has edited:
// an approval does not change this.
func TestEditedArgumentsThatEscapeTheTargetToolsRules(t *testing.T) {
	p := judgetest.Parse(t, approvals+"    rules:\n      - {tool: core__tool, when: 'args.text == \"/etc\"', decision: deny, message: not there}\n")
	rule := p.Decide(policy.Facts{TenantID: "acme"}).Approval
	granted := hook.GrantedApproval{ApprovalID: "inv.2", ToolDigest: "td", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, RuleDigest: rule.Digest(), Approver: "user:bob"}
	for args, code := range map[string]toolspec.Code{
		`{"text":"/tmp"}`: "", `{"text":"/etc"}`: toolspec.CodePolicyDenied, `{"text":"\u002fetc"}`: toolspec.CodePolicyDenied, `{}`: toolspec.CodePolicyDenied,
	} {
		v, _ := judge(t, p, hook.WillCheckConsent.Stage(), func(f *hook.Facts) { f.Args, f.Approval = json.RawMessage(args), &granted })
		switch {
		case code == "" && v.Outcome != hook.Continue:
			t.Errorf("%s: %+v", args, v)
		case code != "" && (v.Failure == nil || v.Failure.Code != code || v.Failure.SafeMessage != "not there"):
			t.Errorf("%s: %+v", args, v.Failure)
		}
	}
	// Before the arguments are known, such a rule neither denies nor allows the call, and the verdict names no
	// rule.
	if v, _ := judge(t, p, hook.WillAuthorize.Stage(), func(f *hook.Facts) { f.Args = nil }); v.Outcome != hook.Continue || v.Delta.Rule != "" {
		t.Errorf("%+v", v)
	}
}
