package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/document"
)

func TestMayDecide(t *testing.T) {
	base := ApprovalRule{Enabled: true}
	with := func(change func(a *ApprovalRule)) ApprovalRule {
		a := base
		change(&a)
		return a
	}
	unsigned := with(func(a *ApprovalRule) { a.AllowUnsigned = true })
	self := with(func(a *ApprovalRule) { a.AllowSelfApproval = true })
	named := with(func(a *ApprovalRule) { a.Approvers = []document.Pattern{"user:*", "group:ops"} })
	for _, c := range []struct {
		name                string
		rule                ApprovalRule
		approver, requester string
		signed, ok          bool
		reason              string
	}{
		{"signed", base, "user:bob", "user:ann", true, true, ""},
		{"unsigned", base, "user:bob", "user:ann", false, false, "policy counts only signed decisions"},
		{"unsigned where policy says so", unsigned, "user:bob", "user:ann", false, true, ""},
		{"self", base, "user:ann", "user:ann", true, false, "policy does not let the requester decide on the own call"},
		{"self unsigned", unsigned, "user:ann", "user:ann", false, false, "policy does not let the requester decide on the own call"},
		{"self where policy says so", self, "user:ann", "user:ann", true, true, ""},
		{"unknown requester", base, "user:ann", "", true, false, "policy does not let the requester decide on the own call"},
		{"no approver", unsigned, "", "user:ann", false, false, "the decision names no approver"},
		{"no approver, self", self, "", "", true, false, "the decision names no approver"},
		{"named by prefix", named, "user:bob", "user:ann", true, true, ""},
		{"named exactly", named, "group:ops", "user:ann", true, true, ""},
		{"longer than the name", named, "group:ops2", "user:ann", true, false, "policy does not name this approver"},
		{"not named", named, "agent:x", "user:ann", true, false, "policy does not name this approver"},
		{"named requester", named, "user:ann", "user:ann", true, false, "policy does not let the requester decide on the own call"},
		{"zero rule", ApprovalRule{}, "user:bob", "user:ann", true, false, "approvals are off for this tenant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ok, reason := c.rule.MayDecide(Voter{Identity: c.approver, Signed: c.signed}, c.requester)
			if ok != c.ok || reason != c.reason {
				t.Errorf("got %v %q, want %v %q", ok, reason, c.ok, c.reason)
			}
		})
	}
}

func TestApprovalDescribe(t *testing.T) {
	for want, c := range map[string]struct {
		rule       ApprovalRule
		requesters string
	}{
		"anyone but user:ann; unsigned decisions count":                                      {ApprovalRule{Enabled: true, AllowUnsigned: true}, "user:ann"},
		"anyone but the requester; only signed decisions count":                              {ApprovalRule{Enabled: true}, ""},
		"anyone; only signed decisions count":                                                {ApprovalRule{Enabled: true, AllowSelfApproval: true}, "user:ann"},
		"user:* or group:ops, but not the requester user:ann; only signed decisions count":   {ApprovalRule{Enabled: true, Approvers: []document.Pattern{"user:*", "group:ops"}}, "user:ann"},
		"anyone but agent:shop or user:ann; only signed decisions count":                     {ApprovalRule{Enabled: true}, "agent:shop user:ann"},
		"user:*, but not the requesters agent:shop or user:ann; only signed decisions count": {ApprovalRule{Enabled: true, Approvers: []document.Pattern{"user:*"}}, "agent:shop user:ann"},
		"user:*, but not the requester user:ann; only signed decisions count":                {ApprovalRule{Enabled: true, Approvers: []document.Pattern{"user:*"}}, "user:ann user:ann"},
		"nobody; approvals are off":                                                          {ApprovalRule{AllowUnsigned: true}, "user:ann"},
	} {
		if got := c.rule.Describe(strings.Fields(c.requesters)...); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestApprovalDigest(t *testing.T) {
	base := ApprovalRule{Enabled: true, ExpiresAfterMs: 1000, Approvers: []document.Pattern{"user:a", "user:b"}}
	// printf '%s' '{"allowSelfApproval":false,"allowUnsigned":false,"approvers":["user:a","user:b"],"enabled":true}' | sha256sum
	const vector = "2919db2b7deaef9ae7a3ff09ef8aeb54015df4589934d4c0592ab0ba9c70f211"
	if got := base.Digest(); got != vector {
		t.Errorf("digest %s, want %s", got, vector)
	}
	same := base
	same.ExpiresAfterMs, same.Quorum = 2000, 1
	same.Approvers = []document.Pattern{"user:b", "user:a", "user:b"}
	if same.Digest() != vector {
		t.Error("the life of a request, a quorum of one or the order of the approvers changed the digest")
	}
	if same.Approvers[0] != "user:b" {
		t.Error("Digest sorted the caller's list")
	}
	for name, a := range map[string]ApprovalRule{
		"enabled":  {Approvers: base.Approvers},
		"self":     {Enabled: true, Approvers: base.Approvers, AllowSelfApproval: true},
		"unsigned": {Enabled: true, Approvers: base.Approvers, AllowUnsigned: true},
		"fewer":    {Enabled: true, Approvers: base.Approvers[:1]},
		"anyone":   {Enabled: true},
	} {
		if a.Digest() == vector {
			t.Errorf("%s does not change the digest", name)
		}
	}
	cfo := besides(t, base, of("pay", ChainEntry{Approvers: []document.Pattern{"user:cfo"}}))
	for name, a := range map[string]ApprovalRule{
		"no hook":         base,
		"other approvers": besides(t, base, of("pay", ChainEntry{Approvers: []document.Pattern{"user:ceo"}})),
		"another quorum":  besides(t, base, of("pay", ChainEntry{Approvers: []document.Pattern{"user:cfo"}, Quorum: 2})),
		"another hook":    besides(t, cfo, of("law", ChainEntry{Approvers: []document.Pattern{"role:law"}})),
	} {
		if a.Digest() == cfo.Digest() {
			t.Errorf("%s does not change the digest of a rule with approvers of a hook", name)
		}
	}
}

func TestApprovalsAreReadAndDefaulted(t *testing.T) {
	d := mustParse(t, acme("    allowedTools: [core__*]\n")).Decide(call())
	if !d.Approval.Enabled || d.Approval.ExpiresAfter() != 24*time.Hour || d.Approval.AllowUnsigned || d.Approval.AllowSelfApproval || d.Approval.Approvers != nil {
		t.Errorf("defaults: %+v", d.Approval)
	}
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    mode: yolo
    budgets: {maxRuntimeMs: 1500, maxResultBytes: 1000, deadlineMs: 60000}
    approvals: {enabled: true, expiresAfter: 7d, allowSelfApproval: true, allowUnsigned: true, approvers: ["user:*", "group:ops"]}
`))
	d = p.Decide(call())
	if d.Verb != Allow || d.Approval.ExpiresAfter() != 7*24*time.Hour || !d.Approval.AllowUnsigned || !d.Approval.AllowSelfApproval || len(d.Approval.Approvers) != 2 {
		t.Errorf("read: %+v", d.Approval)
	}
	d.Approval.Approvers[0] = "changed"
	if p.Decide(call()).Approval.Approvers[0] != "user:*" {
		t.Error("a decision shares its approvers with the policy")
	}
	if d.Budgets.Runtime(time.Second) != time.Second || d.Budgets.Runtime(time.Minute) != 1500*time.Millisecond ||
		d.Budgets.ResultBytes(999) != 999 || d.Budgets.ResultBytes(1<<20) != 1000 || d.Budgets.Deadline(time.Hour) != time.Minute || d.Budgets.Deadline(0) != time.Minute ||
		(Budgets{}).Runtime(time.Hour) != time.Hour {
		t.Errorf("budgets: %+v", d.Budgets)
	}
}
