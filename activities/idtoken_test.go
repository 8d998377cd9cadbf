package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// tokens accepts one token, whose person it returns, and keeps the rows that it gets.
type tokens struct {
	identity, fault string
	err             error
	asked           []approval.IDTokenRow
}

func (s *tokens) Identify(_ context.Context, in approval.IDTokenRow) (identity, keyID, fault string, err error) {
	s.asked = append(s.asked, in)
	if s.identity != "" {
		keyID = "oidc:corp:key"
	}
	return s.identity, keyID, s.fault, s.err
}

// TestIDTokens: an ID token proves the person that it names, for the whole decision. A signature of Pawl is
// verified as without ID tokens. While the issuer cannot be asked, no decision is refused for good.
func TestIDTokens(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	digest := strings.Repeat("0a", 32)
	bob := newSigner(t)
	open := approval.OpenRequest{Rule: policy.ApprovalRule{Enabled: true}, RequestedBy: "user:ann", Digest: digest, Now: now}
	plain := toolspec.Decision{ApprovalID: toolspec.ApprovalID("1b4e28ba-2fa1-51d2-883f-0016d3cca427", 1), Decision: toolspec.Approve, Approver: "user:bob", Digest: digest, Proof: "id.token.x"}
	with := func(change func(*toolspec.Decision)) toolspec.Decision { d := plain; change(&d); return d }
	keyed := with(func(d *toolspec.Decision) { d.Proof = "" })
	keyed, err := bob.Sign(keyed, "acme", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		tokens tokens
		open   func(*approval.OpenRequest)
		d      toolspec.Decision
		why    string // empty if the decision counts
		again  bool
		asked  int
	}{
		{"right", tokens{identity: "user:bob"}, nil, plain, "", false, 1},
		{"a denial", tokens{identity: "user:bob"}, nil, with(func(d *toolspec.Decision) { d.Decision = toolspec.Deny }), "", false, 1},
		{"refused", tokens{fault: "it has expired"}, nil, plain, "it has expired", false, 1},
		{"refused where unsigned ones count", tokens{fault: "it has expired"}, func(o *approval.OpenRequest) { o.Rule.AllowUnsigned = true }, plain, "it has expired", false, 1},
		{"of somebody else", tokens{identity: "user:cid"}, nil, plain, "the ID token is of user:cid", false, 1},
		{"of the requester", tokens{identity: "user:ann"}, nil, with(func(d *toolspec.Decision) { d.Approver = "user:ann" }), "does not let the requester decide", false, 1},
		{"without the digest", tokens{identity: "user:bob"}, nil, with(func(d *toolspec.Decision) { d.Digest = "" }), "must carry the digest", false, 0},
		{"of another digest", tokens{identity: "user:bob"}, func(o *approval.OpenRequest) { o.Digest = strings.Repeat("1", 64) }, plain, "another digest", false, 1},
		{"over no JSON", tokens{identity: "user:bob"}, nil, with(func(d *toolspec.Decision) {
			d.Decision, d.EditedArgs = toolspec.Edit, json.RawMessage(`{"a":1,"a":2}`)
		}), "another decision", false, 0},
		{"nobody knows", tokens{err: errs.Transient(errors.New("away"))}, nil, plain, "send the same decision again", true, 1},
		{"nobody knows, where unsigned ones count", tokens{err: errs.Transient(errors.New("away"))}, func(o *approval.OpenRequest) { o.Rule.AllowUnsigned = true }, plain, "send the same decision again", true, 1},
		{"signed with a key", tokens{err: errs.Transient(errors.New("away"))}, func(o *approval.OpenRequest) {
			o.Key = &proof.Registered{Key: bob.Key(), Identity: "user:bob"}
		}, keyed, "", false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{config: activities.Config{IDTokens: &tc.tokens}})
			w.records.open, w.records.state = open, contract.RequestOpen
			if tc.open != nil {
				tc.open(&w.records.open)
			}
			got, err := w.Review(t.Context(), contract.ReviewIn{ToolID: "core__tool", TenantID: "acme", ApprovalID: plain.ApprovalID, Decision: &tc.d})
			if err != nil {
				t.Fatal(err)
			}
			if got.Answer.Counted != (tc.why == "") || got.Answer.Again != tc.again || !strings.Contains(got.Answer.Reason, tc.why) {
				t.Errorf("got %+v, want %q", got.Answer, tc.why)
			}
			if len(tc.tokens.asked) != tc.asked {
				t.Fatalf("asked %d times, want %d", len(tc.tokens.asked), tc.asked)
			}
			if tc.asked > 0 {
				nonce, err := proof.Hash(tc.d)
				if asked := tc.tokens.asked[0]; err != nil || asked != (approval.IDTokenRow{Proof: plain.Proof, TenantID: "acme", Nonce: nonce, Now: now}) {
					t.Errorf("asked %+v, %v", asked, err)
				}
			}
		})
	}
}
