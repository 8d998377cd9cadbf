package policy

import (
	"testing"
	"time"
)

// TestApproversOfRules: a rule or an override says who approves, and what the tenant says of others is gone with it.
func TestApproversOfRules(t *testing.T) {
	t.Parallel()
	p := mustParse(t, acme(`
    allowedTools: ["*"]
    mode: ask
    approvals:
      approvers: [user:ann]
      remindAfter: 1h
      escalate: [{after: 2h, approvers: [user:chief]}]
      remember: {for: 7d}
    rules:
      - {tool: pay__*, decision: require_approval, message: money is looked at, approvals: {expiresAfter: 4h}}
      - {tool: pay__*, when: args.amount > 10000, decision: require_approval, message: two people, approvals: {approvers: ["role:finance"], quorum: 2}}
      - {tool: pay__*, when: args.amount > 1000000, decision: require_approval, approvals: {chain: [{name: lead, approvers: ["role:lead"]}, {approvers: [user:ceo]}]}}
      - {tool: pay__*, when: args.amount > 99999999, decision: deny}
    overrides:
      - {tool: core__write_*, mode: auto}
      - {tool: core__*, approvals: {quorum: 2}}
      - {tool: core__write_file, approvals: {approvers: [user:never]}}
`))
	tenants := "user:ann but user:x; after 2h also user:chief; only signed decisions count"
	for _, c := range []struct {
		name, tool, args, rule, who string
		verb                        Verb
		lasts, remembers            time.Duration
		other                       bool
	}{
		{"the tenant's", "mail__send", `{}`, "mode ask, risk medium", tenants, RequireApproval, 24 * time.Hour, 7 * 24 * time.Hour, false},
		{"only for how long", "pay__out", `{"amount":1}`, "tenants.acme.rules[0]", tenants, RequireApproval, 4 * time.Hour, 7 * 24 * time.Hour, false},
		{"a later rule names people", "pay__out", `{"amount":10001}`, "tenants.acme.rules[1]", "2 of role:finance but user:x; only signed decisions count", RequireApproval, 24 * time.Hour, 0, false},
		{"the first that does", "pay__out", `{"amount":1000001}`, "tenants.acme.rules[1]", "2 of role:finance but user:x; only signed decisions count", RequireApproval, 24 * time.Hour, 0, false},
		{"what fails counts", "pay__out", `{"amount":"much"}`, "tenants.acme.rules[3] (its condition failed)", tenants, Deny, 24 * time.Hour, 7 * 24 * time.Hour, false},
		{"arguments are not known", "pay__out", ``, "tenants.acme.rules[3]", tenants, RequireApproval, 4 * time.Hour, 7 * 24 * time.Hour, false},
		{"an override", "core__write_file", `{}`, "mode auto, risk medium", "2 of anyone but user:x; only signed decisions count", RequireApproval, 24 * time.Hour, 0, false},
	} {
		f := call()
		f.ToolID, f.Args, f.HasArgs = c.tool, []byte(c.args), c.args != ""
		d := p.Decide(f)
		a := d.Approval
		if d.Verb != c.verb || d.Rule != c.rule || a.Describe("user:x") != c.who || a.ExpiresAfter() != c.lasts || d.OtherApprovers != c.other ||
			time.Duration(a.RememberForMs)*time.Millisecond != c.remembers {
			t.Errorf("%s: %s by %s asks %q for %s, remembered for %dms, others %t", c.name, d.Verb, d.Rule, a.Describe("user:x"), a.ExpiresAfter(), a.RememberForMs, d.OtherApprovers)
		}
	}
}

// TestApproversByArguments: without arguments the verdict can be certain, and who approves is not.
func TestApproversByArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules string
		other bool
	}{
		"an earlier rule": {`[{tool: "*", when: args.n > 1, decision: require_approval, approvals: {quorum: 2}}, {tool: "*", decision: require_approval}]`, true},
		"a later rule":    {`[{tool: "*", decision: require_approval}, {tool: "*", when: args.n > 1, decision: require_approval, approvals: {quorum: 2}}]`, true},
		"behind one that names people": {
			`[{tool: "*", decision: require_approval, approvals: {quorum: 3}}, {tool: "*", when: args.n > 1, decision: require_approval, approvals: {quorum: 2}}]`, false,
		},
		"only for how long":     {`[{tool: "*", when: args.n > 1, decision: require_approval, approvals: {expiresAfter: 1h}}, {tool: "*", decision: require_approval}]`, false},
		"where the mode asks":   {`[{tool: "*", when: args.n > 1, decision: require_approval, approvals: {quorum: 2}}]`, true},
		"for another tool only": {`[{tool: web__*, when: args.n > 1, decision: require_approval, approvals: {quorum: 2}}]`, false},
	} {
		f := call()
		f.Args, f.HasArgs = nil, false
		d := mustParse(t, acme("    allowedTools: ['*']\n    rules: "+c.rules+"\n")).Decide(f)
		if d.Verb != RequireApproval || d.Undetermined || d.OtherApprovers != c.other {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
