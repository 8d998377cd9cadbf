package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/document"
)

// TestApprove plays the approvals of a request one after the other.
func TestApprove(t *testing.T) {
	signed := func(id string, roles ...string) Voter { return Voter{Identity: id, Signed: true, Roles: roles} }
	two := ApprovalRule{Enabled: true, Quorum: 2}
	chain := ApprovalRule{Enabled: true, Chain: []ChainEntry{
		{Name: "team lead", Approvers: []document.Pattern{"role:lead"}},
		{Approvers: []document.Pattern{"role:security", "user:chief"}, Quorum: 2},
	}}
	for _, tc := range []struct {
		name   string
		rule   ApprovalRule
		voters []Voter
		want   string // what the last one hears
	}{
		{"one is enough", ApprovalRule{Enabled: true}, []Voter{signed("user:bob")}, "final"},
		{"unsigned", ApprovalRule{Enabled: true}, []Voter{{Identity: "user:bob"}}, "policy counts only signed decisions"},
		{"the first of two", two, []Voter{signed("user:bob")}, "entry 0, 1 of 2 approvals"},
		{"the second of two", two, []Voter{signed("user:bob"), signed("user:cid")}, "final"},
		{"one person twice", two, []Voter{signed("user:bob"), signed("user:bob")}, "this approver has approved already; another person has to"},
		{"the requester is one of two", two, []Voter{signed("user:bob"), signed("user:ann")}, "policy does not let the requester decide on the own call"},
		{"who the requester acts for", two, []Voter{signed("user:boss")}, "policy does not let the requester decide on the own call"},
		{"the lead", chain, []Voter{signed("user:bob", "lead")}, "entry 0, the request now waits for 2 of role:security or user:chief"},
		{"security before the lead", chain, []Voter{signed("user:cid", "security")}, "it is not this approver's turn; the request waits for team lead (role:lead)"},
		{"somebody of no entry", chain, []Voter{signed("user:dan", "intern")}, "policy does not name this approver"},
		{"the lead, then one", chain, []Voter{signed("user:bob", "lead"), signed("user:cid", "security")}, "entry 1, 1 of 2 approvals"},
		{"the lead, then two", chain, []Voter{signed("user:bob", "lead"), signed("user:cid", "security"), signed("user:chief")}, "final"},
		{"the lead sits in both", chain, []Voter{signed("user:bob", "lead", "security"), signed("user:bob", "lead", "security")}, "this approver has approved already; another person has to"},
		{"who calls itself a role", chain, []Voter{signed("role:lead")}, "policy does not name this approver"},
		{"too late", two, []Voter{signed("user:bob"), signed("user:cid"), signed("user:dan")}, "nobody else has to approve"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var votes []Vote
			var got string
			for _, v := range tc.voters {
				r := tc.rule.Approve(v, votes, "user:ann", "user:boss")
				if got = r.Reason; r.Counted {
					votes = append(votes, Vote{Entry: r.Entry, Approver: v.Identity})
					got = strings.TrimSpace("entry " + string(rune('0'+r.Entry)) + ", " + r.Reason)
				}
				if r.Final {
					got = "final"
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestChainsAreRead: what is written is what has to approve, and who has to is part of
// the digest.
func TestChainsAreRead(t *testing.T) {
	read := func(approvals string) ApprovalRule {
		return mustParse(t, acme("    allowedTools: [core__*]\n    approvals: "+approvals+"\n")).Decide(call()).Approval
	}
	chain := read(`{chain: [{name: lead, approvers: ["role:lead"]}, {approvers: ["role:security", "user:a"], quorum: 2}]}`)
	if got, want := chain.Describe("user:ann"), "lead (role:lead), then 2 of role:security or user:a, but not the requester user:ann; only signed decisions count"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !chain.NeedsRoles() || read(`{quorum: 2}`).NeedsRoles() {
		t.Error("roles are needed where an entry names one, and nowhere else")
	}
	digests := map[string]string{}
	for _, approvals := range []string{
		`{}`, `{quorum: 2}`, `{quorum: 3}`, `{chain: [{quorum: 2}]}`, `{chain: [{}, {}]}`, `{chain: [{approvers: ["user:a"]}, {approvers: ["user:b"]}]}`,
		`{chain: [{approvers: ["user:b"]}, {approvers: ["user:a"]}]}`,
	} {
		if other, taken := digests[read(approvals).Digest()]; taken {
			t.Errorf("%s and %s have one digest", approvals, other)
		}
		digests[read(approvals).Digest()] = approvals
	}
	if read(`{quorum: 1}`).Digest() != read(`{}`).Digest() || read(`{chain: [{name: a}]}`).Digest() != read(`{chain: [{name: b, quorum: 1}]}`).Digest() {
		t.Error("what means the same has another digest")
	}
}

// TestMissing: what a request still waits for, before and after votes.
func TestMissing(t *testing.T) {
	rule := ApprovalRule{Enabled: true, Approvers: []document.Pattern{"role:finance"}, Quorum: 2}
	vote := Vote{Approver: "user:bob"}
	for _, tc := range []struct {
		votes []Vote
		want  []string
	}{
		{nil, []string{"2 of role:finance"}},
		{[]Vote{vote}, []string{"1 of role:finance"}},
		{[]Vote{vote, {Approver: "user:cid"}}, nil},
	} {
		if got := rule.Missing(tc.votes); !slices.Equal(got, tc.want) {
			t.Errorf("after %d votes: %q, want %q", len(tc.votes), got, tc.want)
		}
	}
}
