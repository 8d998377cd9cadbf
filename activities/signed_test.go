package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestSignedDecisions: a proof counts for the person who signed it, and for the request and the digest that it
// was signed for. An invalid proof is refused even if the rule accepts unsigned decisions.
func TestSignedDecisions(t *testing.T) {
	bob, mallory := newSigner(t), newSigner(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	digest := strings.Repeat("0a", 32)
	const inv = "1b4e28ba-2fa1-51d2-883f-0016d3cca427"
	open := approval.OpenRequest{
		Rule: policy.ApprovalRule{Enabled: true}, RequestedBy: "user:ann", Digest: digest, Now: now,
		Key: &proof.Registered{Key: bob.Key(), Identity: "user:bob"},
	}
	with := func(change func(*approval.OpenRequest)) approval.OpenRequest { o := open; change(&o); return o }
	plain := toolspec.Decision{ApprovalID: toolspec.ApprovalID(inv, 1), Decision: toolspec.Approve, Approver: "user:bob", Digest: digest}
	signed := func(s proof.Signer, tenant string, change func(*toolspec.Decision)) toolspec.Decision {
		d := plain
		change(&d)
		d, err := s.Sign(d, tenant, now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := func(*toolspec.Decision) {}
	right := signed(bob, "acme", same)
	moved := right
	moved.ApprovalID = toolspec.ApprovalID(inv, 2)
	changed := right
	changed.Reason = "another reason"
	for _, tc := range []struct {
		name string
		open approval.OpenRequest
		d    toolspec.Decision
		why  string // empty if the decision counts
	}{
		{"signed", open, right, ""},
		{"a denial", open, signed(bob, "acme", func(d *toolspec.Decision) { d.Decision = toolspec.Deny }), ""},
		{"unsigned", open, plain, "only signed"},
		{"with a key nobody knows", with(func(o *approval.OpenRequest) { o.Key = nil }), right, "not registered"},
		{"with a revoked key", with(func(o *approval.OpenRequest) {
			o.Key = &proof.Registered{Key: bob.Key(), Identity: "user:bob", Revoked: true}
		}), right, "was revoked"},
		{"forged", open, signed(mallory, "acme", same), "signature"},
		{"for another tenant", open, signed(bob, "globex", same), "another tenant"},
		{"of another request", open, moved, "for another request"},
		{"of another decision", open, changed, "another decision"},
		{"expired", with(func(o *approval.OpenRequest) { o.Now = now.Add(2 * time.Hour) }), right, "has expired"},
		{"of another digest", with(func(o *approval.OpenRequest) { o.Digest = strings.Repeat("1", 64) }), right, "another digest"},
		{"in the name of another", open, signed(bob, "acme", func(d *toolspec.Decision) { d.Approver = "user:cid" }), "somebody else"},
		{"by the requester", with(func(o *approval.OpenRequest) { o.RequestedBy = "user:bob" }), right, "does not let the requester decide"},
		{"forged where unsigned ones count", with(func(o *approval.OpenRequest) { o.Rule.AllowUnsigned = true }), signed(mallory, "acme", same), "signature"},
		{"withdrawn by the requester", with(func(o *approval.OpenRequest) { o.RequestedBy = "user:bob" }),
			signed(bob, "acme", func(d *toolspec.Decision) { d.Decision = toolspec.Withdraw }), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.records.open, w.records.state = tc.open, contract.RequestOpen
			got, err := w.Review(t.Context(), contract.ReviewIn{InvocationID: inv, ToolID: "core__tool", TenantID: "acme", ApprovalID: plain.ApprovalID, Decision: &tc.d})
			if err != nil {
				t.Fatal(err)
			}
			if got.Answer.Counted != (tc.why == "") || !strings.Contains(got.Answer.Reason, tc.why) {
				t.Errorf("got %+v, want %q", got.Answer, tc.why)
			}
		})
	}
}

func newSigner(t *testing.T) proof.Signer {
	t.Helper()
	s, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestApproversByRole: the roles of an approver are those of the active policy and of relations at the time of
// the decision.
func TestApproversByRole(t *testing.T) {
	const rules = "version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    roles: {lead: [\"user:lea\"]}\n"
	for _, tc := range []struct {
		name, who string
		held      map[string][]string
		why       string
	}{
		{"by the policy", "user:lea", nil, ""},
		{"by a relation", "user:bob", map[string][]string{"user:bob": {"role:lead"}}, ""},
		{"with another role", "user:bob", map[string][]string{"user:bob": {"role:intern"}}, "does not name this approver"},
		{"who has lost it", "user:bob", map[string][]string{"user:eve": {"role:lead"}}, "does not name this approver"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{policy: rules})
			w.records.roles, w.records.state = tc.held, contract.RequestOpen
			w.records.open = approval.OpenRequest{
				Rule:        policy.ApprovalRule{Enabled: true, AllowUnsigned: true, Approvers: []document.Pattern{"role:lead"}},
				RequestedBy: "user:ann", PolicyDigest: w.policy.Digest(),
			}
			d := toolspec.Decision{ApprovalID: "inv.1", Decision: toolspec.Approve, Approver: tc.who}
			got, err := w.Review(t.Context(), contract.ReviewIn{TenantID: "acme", ApprovalID: "inv.1", Decision: &d})
			if err != nil || got.Answer.Counted != (tc.why == "") || !strings.Contains(got.Answer.Reason, tc.why) {
				t.Errorf("got %+v, %v, want %q", got.Answer, err, tc.why)
			}
		})
	}
}
