package activities_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestAccepts: a request lists the keys of the people who may decide, now or after an escalation, and of the
// requester, who may withdraw. It says if it does not list all of them.
func TestAccepts(t *testing.T) {
	keys := func(identities ...string) (all approval.RequestKeys) {
		for _, who := range identities {
			all.Keys = append(all.Keys, proof.Registered{Key: newSigner(t).Key(), Identity: who})
		}
		return all
	}
	everybody := []string{"user:ann", "user:bob", "user:lead", "user:owner"}
	var crowd []string
	for i := range contract.MaxAcceptedKeys + 1 {
		crowd = append(crowd, fmt.Sprint("user:", i))
	}
	for name, tc := range map[string]struct {
		rule policy.ApprovalRule
		keys approval.RequestKeys
		want []string
		more bool
	}{
		"anyone":             {policy.ApprovalRule{}, keys(everybody...), everybody, false},
		"one and the asker":  {policy.ApprovalRule{Approvers: []document.Pattern{"user:bob"}}, keys(everybody...), []string{"user:ann", "user:bob"}, false},
		"one, later another": {policy.ApprovalRule{Approvers: []document.Pattern{"user:bob"}, Escalate: []policy.Escalation{{AfterMs: 1000, Approvers: []document.Pattern{"user:owner"}}}}, keys(everybody...), []string{"user:ann", "user:bob", "user:owner"}, false},
		"a chain":            {policy.ApprovalRule{Chain: []policy.ChainEntry{{Approvers: []document.Pattern{"user:bob"}}, {Approvers: []document.Pattern{"user:lead"}}}}, keys(everybody...), []string{"user:ann", "user:bob", "user:lead"}, false},
		"a role":             {policy.ApprovalRule{Approvers: []document.Pattern{"role:lead"}}, keys(everybody...), everybody, false},
		"too many":           {policy.ApprovalRule{}, keys(crowd...), crowd[:contract.MaxAcceptedKeys], true},
		"not all were read":  {policy.ApprovalRule{}, approval.RequestKeys{Keys: keys("user:bob").Keys, More: true}, []string{"user:bob"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{config: activities.Config{IDTokens: &tokens{}}})
			tc.rule.Enabled = true
			w.records.open, w.records.state = approval.OpenRequest{Rule: tc.rule, RequestedBy: "user:ann"}, contract.RequestOpen
			w.records.requestKeys = tc.keys
			got, err := w.Review(t.Context(), contract.ReviewIn{ToolID: "core__tool", TenantID: "acme", ApprovalID: toolspec.ApprovalID("1b4e28ba-2fa1-51d2-883f-0016d3cca427", 1), Refresh: true})
			if err != nil || got.Accepts == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			var names []string
			for i, k := range got.Accepts.Keys {
				names = append(names, k.Identity)
				if key, err := proof.KeyOf(k.Public); err != nil || key.ID() != k.ID {
					t.Errorf("key %d: %v", i, err)
				}
			}
			if !slices.Equal(names, tc.want) || got.Accepts.MoreKeys != tc.more || !got.Accepts.IDTokens || got.Accepts.Unsigned {
				t.Errorf("it accepts %v, more %t, %+v; want %v", names, got.Accepts.MoreKeys, got.Accepts.Unsigned, tc.want)
			}
		})
	}
}
