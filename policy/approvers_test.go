package policy

import (
	"testing"
	"time"
)

// TestApproversOfRules: a rule or an override says who approves, and what the tenant says of others is gone with it.
func TestApproversOfRules(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `
version: 1
tenants:
  acme:
    allowedTools: ["*"]
    mode: ask
    approvals: {approvers: ["user:a*"], remindAfter: 1h, escalate: [{after: 2h, approvers: [user:chief]}], remember: {for: 7d}}
    rules:
      - {tool: pay__*, decision: require_approval, message: money is looked at, approvals: {expiresAfter: 4h}}
      - {tool: pay__*, when: args.amount > 1000000, decision: require_approval, approvals: {approvers: [user:ceo]}}
      - {tool: pay__*, when: args.amount > 10000, decision: require_approval, message: two people, approvals: {approvers: ["role:finance"], quorum: 2}}
      - {tool: pay__*, when: args.amount > 99999999, decision: deny}
      - {tool: mail__*, when: args.to > 10, decision: require_approval, approvals: {quorum: 3}}
    overrides:
      - {tool: core__write_*, mode: auto}
      - {tool: core__*, approvals: {approvers: [user:ben, user:cy], quorum: 2}}
      - {tool: core__write_file, approvals: {approvers: [user:never]}}
  general:
    allowedTools: ["*"]
    approvals: {approvers: [user:ceo]}
    rules:
      - {tool: "*", when: args.amount < 100, decision: require_approval, approvals: {approvers: ["role:clerk"]}}
      - {tool: pay__out, decision: require_approval, approvals: {expiresAfter: 3h}}
  anybody:
    allowedTools: ["*"]
    rules:
      - {tool: "*", when: args.amount < 100, decision: require_approval, approvals: {approvers: ["role:clerk"]}}
  clear:
    allowedTools: ["*"]
    rules:
      - {tool: "*", when: args.amount <= 1000, decision: require_approval, approvals: {approvers: ["role:clerk"], expiresAfter: 2h}}
      - {tool: "*", when: args.amount > 1000, decision: require_approval, approvals: {approvers: ["role:finance"], quorum: 2}}
      - {tool: "*", decision: require_approval, approvals: {approvers: [user:all]}}
`)
	const day = 24 * time.Hour
	const signed = ", but not the requester user:x; only signed decisions count"
	tenants := "user:a*, but not the requester user:x; after 2h also user:chief; only signed decisions count"
	for _, c := range []struct {
		name, tenant, tool, args, rule, who string
		verb                                Verb
		lasts, remembers                    time.Duration
	}{
		{"the tenant's", "acme", "web__get", `{}`, "mode ask, risk medium", tenants, RequireApproval, day, 7 * day},
		{"only for how long", "acme", "pay__out", `{"amount":1}`, "tenants.acme.rules[0]", tenants, RequireApproval, 4 * time.Hour, 7 * day},
		{"a later rule names people", "acme", "pay__out", `{"amount":10001}`, "tenants.acme.rules[2]", "2 of role:finance" + signed, RequireApproval, day, 0},
		{"the first that does", "acme", "pay__out", `{"amount":1000001}`, "tenants.acme.rules[1]", "user:ceo" + signed, RequireApproval, day, 0},
		{"a deny comes first", "acme", "pay__out", `{"amount":"much"}`, "tenants.acme.rules[3] (its condition failed)", tenants, Deny, day, 7 * day},
		{"arguments are not known", "acme", "pay__out", ``, "tenants.acme.rules[3]", tenants, RequireApproval, 4 * time.Hour, 7 * day},
		{"more of the tenant's people", "acme", "mail__send", `{"to":11}`, "tenants.acme.rules[4]", "3 of user:a*, but not the requester user:x; after 2h also user:chief; only signed decisions count", RequireApproval, day, 0},
		{"an override", "acme", "core__write_file", `{}`, "mode auto, risk medium", "2 of user:ben or user:cy" + signed, RequireApproval, day, 0},
		{"a condition holds", "clear", "pay", `{"amount":1}`, "tenants.clear.rules[0]", "role:clerk" + signed, RequireApproval, 2 * time.Hour, 0},
		{"beside a rule that names nobody", "general", "pay__out", `{"amount":"5000"}`, "tenants.general.rules[1]", "user:ceo, then role:clerk" + signed, RequireApproval, 3 * time.Hour, 0},
		{"where the mode asks", "general", "mail__send", `{"amount":"5000"}`, "tenants.general.rules[0] (its condition failed)", "user:ceo, then role:clerk" + signed, RequireApproval, day, 0},
		{"anybody comes last", "anybody", "mail__send", `{}`, "tenants.anybody.rules[0] (its condition failed)", "role:clerk, then anyone but user:x; only signed decisions count", RequireApproval, day, 0},
		{"two conditions fail", "clear", "pay", `{"amount":"5000"}`, "tenants.clear.rules[2]", "user:all, then role:clerk, then 2 of role:finance" + signed, RequireApproval, 2 * time.Hour, 0},
	} {
		f := call()
		f.TenantID, f.ToolID, f.Args, f.HasArgs = c.tenant, c.tool, []byte(c.args), c.args != ""
		d := p.Decide(f)
		a := d.Approval
		if d.Verb != c.verb || d.Rule != c.rule || a.Describe("user:x") != c.who || a.ExpiresAfter() != c.lasts ||
			time.Duration(a.RememberForMs)*time.Millisecond != c.remembers {
			t.Errorf("%s: %s by %s asks %q for %s, remembered for %dms", c.name, d.Verb, d.Rule, a.Describe("user:x"), a.ExpiresAfter(), a.RememberForMs)
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
