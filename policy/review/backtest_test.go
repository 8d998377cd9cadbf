package review

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

func TestBacktest(t *testing.T) {
	before := mustParse(t, acme("    allowedTools: [core__*]\n    mode: auto\n"))
	after := mustParse(t, acme("    allowedTools: [core__*]\n    mode: ask\n    rules: [{tool: core__b, decision: deny}, {tool: core__c, decision: allow}]\n"))
	var b Backtest
	for _, c := range []struct {
		id, tool string
		risk     toolspec.Risk
	}{
		{"1", "core__a", toolspec.LowRisk}, {"2", "core__b", toolspec.LowRisk}, {"3", "core__b", toolspec.LowRisk}, {"4", "core__b", toolspec.HighRisk},
		{"5", "core__c", toolspec.HighRisk}, {"6", "core__c", toolspec.LowRisk}, {"7", "other__x", toolspec.LowRisk},
	} {
		b.Add(c.id, policy.Facts{TenantID: "acme", ToolID: c.tool, Effect: toolspec.ReadOnly, Risk: c.risk}, before, after)
	}
	want := []Moved{
		{Move{"acme", "core__b", policy.Allow, policy.Deny, false, "tenants.acme.rules[0]"}, 2, "2"},
		{Move{"acme", "core__b", policy.RequireApproval, policy.Deny, false, "tenants.acme.rules[0]"}, 1, "4"},
		{Move{"acme", "core__a", policy.Allow, policy.RequireApproval, false, "mode ask, risk low"}, 1, "1"},
		{Move{"acme", "core__c", policy.RequireApproval, policy.Allow, false, "tenants.acme.rules[1]"}, 1, "5"},
	}
	if got := b.Moves(); !reflect.DeepEqual(got, want) || b.Calls != 7 || b.Unchanged != 2 {
		t.Errorf("of %d calls %d unchanged, %+v", b.Calls, b.Unchanged, got)
	}
	if got := Tenants(nil, before, mustParse(t, "version: 1\ntenants: {beta: {allowedTools: []}}\n")); !reflect.DeepEqual(got, []string{"acme", "beta"}) {
		t.Errorf("tenants %v", got)
	}
}
