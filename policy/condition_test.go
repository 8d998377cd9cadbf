package policy

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	no           = condition.No
	yes          = condition.Yes
	undetermined = condition.Undetermined
	failed       = condition.Failed
)

// on is a condition that needs the arguments and then answers.
func on(answer condition.Truth) predicate {
	return predicateFunc(func(f Facts) condition.Truth {
		if !f.HasArgs {
			return undetermined
		}
		return answer
	})
}

// always answers the same, with arguments or without.
func always(answer condition.Truth) predicate {
	return predicateFunc(func(Facts) condition.Truth { return answer })
}

// conditional is acme's policy whose i-th rule has the i-th condition.
func conditional(t *testing.T, lines string, conds ...predicate) *Policy {
	t.Helper()
	p := mustParse(t, acme("    allowedTools: [core__*]\n"+lines))
	setConditions(p, conds...)
	return p
}

func setConditions(p *Policy, conds ...predicate) {
	rules := p.tenants["acme"].rules
	for i, cond := range conds {
		for j := range rules {
			if rules[j].Source == fmt.Sprintf("tenants.acme.rules[%d]", i) {
				rules[j].cond = cond
			}
		}
	}
}

const (
	denyRule  = "    rules: [{tool: \"*\", decision: deny}]\n"
	askRule   = "    rules: [{tool: \"*\", decision: require_approval}]\n"
	allowRule = "    rules: [{tool: \"*\", decision: allow}]\n"
	riskRule  = "    rules: [{tool: \"*\", risk: high}]\n"
	yolo      = "    mode: yolo\n"
	auto      = "    mode: auto\n"
	noAsking  = "    approvals: {enabled: false}\n"
)

func TestConditionThatFails(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		verb        Verb
		rule        string
	}{
		{"deny applies", denyRule + yolo, Deny, "tenants.acme.rules[0] (its condition failed)"},
		{"require_approval applies", askRule + yolo, RequireApproval, "tenants.acme.rules[0] (its condition failed)"},
		{"allow does not", allowRule, RequireApproval, "mode ask, risk low"},
		{"risk is raised", riskRule + auto, RequireApproval, "mode auto, risk high"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := call()
			f.Risk = toolspec.LowRisk
			wantVerb(t, conditional(t, c.lines, always(failed)).Decide(f), c.verb, c.rule)
		})
	}
}

func TestConditionThatHoldsOrNot(t *testing.T) {
	for _, c := range []struct {
		lines  string
		answer condition.Truth
		verb   Verb
		rule   string
	}{
		{denyRule + yolo, yes, Deny, "tenants.acme.rules[0]"},
		{denyRule + yolo, no, Allow, "mode yolo, risk low"},
		{allowRule, yes, Allow, "tenants.acme.rules[0]"},
		{allowRule, no, RequireApproval, "mode ask, risk low"},
		{riskRule + auto, yes, RequireApproval, "mode auto, risk high"},
		{riskRule + auto, no, Allow, "mode auto, risk low"},
	} {
		f := call()
		f.Risk = toolspec.LowRisk
		wantVerb(t, conditional(t, c.lines, on(c.answer)).Decide(f), c.verb, c.rule)
	}
}

func TestUndetermined(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		open        bool
		verb        Verb
	}{
		{"deny over allow", denyRule + yolo, true, RequireApproval},
		{"deny over ask", denyRule, true, RequireApproval},
		{"ask over allow", askRule + yolo, true, RequireApproval},
		{"ask over ask", askRule, false, RequireApproval},
		{"allow over ask", allowRule, true, RequireApproval},
		{"allow over allow", allowRule + yolo, false, Allow},
		{"raised risk matters", riskRule + auto, true, RequireApproval},
		{"raised risk does not", riskRule + yolo, false, Allow},
		// Nobody can be asked: the question is a deny.
		{"deny over deny", denyRule + noAsking, false, Deny},
		{"ask over deny", askRule + noAsking, false, Deny},
		{"allow over deny", allowRule + noAsking, true, RequireApproval},
		{"ask over allow, approvals off", askRule + yolo + noAsking, true, RequireApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := call()
			f.Risk, f.HasArgs, f.Args = toolspec.LowRisk, false, nil
			d := conditional(t, c.lines, on(yes)).Decide(f)
			if d.Undetermined != c.open || d.Verb != c.verb {
				t.Errorf("got %s, undetermined %v; want %s, %v", d.Verb, d.Undetermined, c.verb, c.open)
			}
		})
	}
}

// With arguments nothing may stay open: it would be an allow in waiting.
func TestUndeterminedWithArgumentsFails(t *testing.T) {
	p := conditional(t, denyRule+yolo, always(undetermined))
	wantVerb(t, p.Decide(call()), Deny, "tenants.acme.rules[0] (its condition failed)")
	p = conditional(t, allowRule, always(undetermined))
	wantVerb(t, p.Decide(call()), RequireApproval, "mode ask, risk medium")
}

// A certain deny further down settles what an open deny left open.
func TestCertainDenyEndsTheQuestion(t *testing.T) {
	p := conditional(t, "    rules: [{tool: \"*\", decision: deny}, {tool: \"*\", decision: deny}]\n", on(yes), always(yes))
	f := call()
	f.HasArgs = false
	wantVerb(t, p.Decide(f), Deny, "tenants.acme.rules[1]")
}
