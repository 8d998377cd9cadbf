package policy

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/document"
)

// escalating goes to security after two hours and to the chief after four.
func escalating(a ApprovalRule) ApprovalRule {
	a.Enabled = true
	a.Escalate = []Escalation{
		{AfterMs: (2 * time.Hour).Milliseconds(), Approvers: []document.Pattern{"role:security"}},
		{AfterMs: (4 * time.Hour).Milliseconds(), Approvers: []document.Pattern{"user:chief"}},
	}
	return a
}

// TestEscalationWidensWhoMayDecide, when its time has come and not before, and changes nothing else.
func TestEscalationWidensWhoMayDecide(t *testing.T) {
	lead := escalating(ApprovalRule{Approvers: []document.Pattern{"user:lead", "user:other"}})
	two := lead
	two.Quorum = 2
	chain := escalating(ApprovalRule{Chain: []ChainEntry{{Name: "lead", Approvers: []document.Pattern{"user:lead"}}, {Approvers: []document.Pattern{"user:owner"}}}})
	open := escalating(ApprovalRule{Chain: []ChainEntry{{}, {Approvers: []document.Pattern{"user:owner"}}}})
	security, chief := Voter{Identity: "user:sec", Signed: true, Roles: []string{"security"}}, Voter{Identity: "user:chief", Signed: true}
	for _, tc := range []struct {
		name   string
		rule   ApprovalRule
		waited time.Duration
		voter  Voter
		votes  []Vote
		want   string
	}{
		{"just before", lead, 2*time.Hour - time.Nanosecond, security, nil, "this approver may not decide yet; the request goes to role:security after 2h"},
		{"at its time", lead, 2 * time.Hour, security, nil, "final"},
		{"long after", lead, 23 * time.Hour, security, nil, "final"},
		{"the next step is still to come", lead, 3 * time.Hour, chief, nil, "this approver may not decide yet; the request goes to user:chief after 4h"},
		{"both steps", lead, 4 * time.Hour, chief, nil, "final"},
		{"whose turn it was may go on", lead, 5 * time.Hour, Voter{Identity: "user:lead", Signed: true}, nil, "final"},
		{"nobody's turn ever", lead, 5 * time.Hour, Voter{Identity: "user:eve", Signed: true}, nil, "policy does not name this approver"},
		{"without the role", lead, 5 * time.Hour, Voter{Identity: "user:sec", Signed: true}, nil, "policy does not name this approver"},
		{"without a signature", lead, 5 * time.Hour, Voter{Identity: "user:chief"}, nil, "policy counts only signed decisions"},
		{"the requester", escalating(ApprovalRule{Approvers: []document.Pattern{"user:lead"}, Escalate: nil}), 5 * time.Hour, Voter{Identity: "user:ann", Signed: true, Roles: []string{"security"}}, nil, "policy does not let the requester decide on the own call"},
		{"a quorum stays", two, 5 * time.Hour, chief, nil, "1 of 2 approvals"},
		{"and counts people, not steps", two, 5 * time.Hour, chief, []Vote{{Entry: 0, Approver: "user:chief"}}, "this approver has approved already; another person has to"},
		{"with one of the first", two, 5 * time.Hour, chief, []Vote{{Entry: 0, Approver: "user:lead"}}, "final"},
		{"a chain goes on in order", chain, 5 * time.Hour, chief, nil, "the request now waits for user:owner or role:security or user:chief"},
		{"the same in no second entry", chain, 5 * time.Hour, chief, []Vote{{Entry: 0, Approver: "user:chief"}}, "this approver has approved already; another person has to"},
		{"another in the second", chain, 5 * time.Hour, security, []Vote{{Entry: 0, Approver: "user:chief"}}, "final"},
		{"an entry of everybody stays one", open, 5 * time.Hour, Voter{Identity: "user:eve", Signed: true}, nil, "the request now waits for user:owner or role:security or user:chief"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.rule.At(tc.waited).Approve(tc.voter, tc.votes, "user:ann")
			got := r.Reason
			if r.Final {
				got = "final"
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			ok, reason := tc.rule.At(tc.waited).MayDecide(tc.voter, "user:ann")
			if len(tc.votes) == 0 && ok != r.Counted || !ok && reason != tc.want {
				t.Errorf("a denial: %v, %q", ok, reason)
			}
		})
	}
	if len(lead.Approvers) != 2 || len(lead.Escalate) != 2 || len(chain.Chain[0].Approvers) != 1 {
		t.Error("At changed the rule that it was asked of")
	}
	if !lead.NeedsRoles() || lead.At(0).NeedsRoles() != lead.NeedsRoles() {
		t.Error("a role of a later step is not asked for")
	}
}

func TestEscalationIsReadAndDescribed(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    approvals:
      approvers: ["user:lead"]
      remindAfter: 90m
      escalate:
        - {after: 2h, approvers: ["role:security", "user:chief"]}
        - {after: 1d, approvers: ["user:*"]}
      expiresAfter: 2d
`))
	a := p.Decide(call()).Approval
	if a.RemindAfter() != 90*time.Minute || len(a.Escalate) != 2 || a.Escalate[0].After() != 2*time.Hour || a.Escalate[1].After() != 24*time.Hour {
		t.Errorf("read: %+v", a)
	}
	want := "user:lead, but not the requester user:ann; after 2h also role:security or user:chief; after 24h also user:*; only signed decisions count"
	if got := a.Describe("user:ann"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = "user:lead or role:security or user:chief, but not the requester user:ann; after 24h also user:*; only signed decisions count"
	if got := a.At(3 * time.Hour).Describe("user:ann"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	opened := time.UnixMilli(1000)
	for _, tc := range []struct {
		life time.Duration
		want int
	}{{2 * time.Hour, 0}, {2*time.Hour + time.Nanosecond, 1}, {24 * time.Hour, 1}, {48 * time.Hour, 2}} {
		steps := a.Escalations(opened, opened.Add(tc.life))
		if len(steps) != tc.want || tc.want > 0 && steps[0].AtMs != opened.Add(2*time.Hour).UnixMilli() {
			t.Errorf("a request that lives %s has the steps %+v, want %d", tc.life, steps, tc.want)
		}
	}
	a.Escalate[0].Approvers[0] = "changed"
	if p.Decide(call()).Approval.Escalate[0].Approvers[0] != "role:security" {
		t.Error("a decision shares its steps with the policy")
	}
	again := mustParse(t, string(p.Source()))
	if again.Digest() != p.Digest() || again.Decide(call()).Approval.Digest() != p.Decide(call()).Approval.Digest() {
		t.Error("what is stored is another policy than what was read")
	}
}

// TestEscalationIsPartOfTheRulesDigest: an approval by somebody to whom it would not have gone is stale. When people are reminded is no
// matter of who may decide.
func TestEscalationIsPartOfTheRulesDigest(t *testing.T) {
	base := escalating(ApprovalRule{Approvers: []document.Pattern{"user:lead"}})
	later, other, none, reminded := base.clone(), base.clone(), base.clone(), base.clone()
	later.Escalate[0].AfterMs++
	other.Escalate[0].Approvers = []document.Pattern{"role:ops"}
	none.Escalate = nil
	for name, a := range map[string]ApprovalRule{"later": later, "to others": other, "not at all": none} {
		if a.Digest() == base.Digest() {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if reminded.RemindAfterMs = 1000; reminded.Digest() != base.Digest() {
		t.Error("a reminder changed who may decide")
	}
	if none.Digest() != (ApprovalRule{Enabled: true, Approvers: []document.Pattern{"user:lead"}}).Digest() {
		t.Error("a rule without escalation has another digest than before")
	}
}
