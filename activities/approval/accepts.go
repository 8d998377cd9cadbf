package approval

import (
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/workflows/contract"
)

// MaxKeys is the maximum number of keys of a tenant that are read with a request.
const MaxKeys = 1000

// RequestKeys holds the valid keys of a request's tenant, at most MaxKeys. More says that
// the tenant has further keys.
type RequestKeys struct {
	Keys []proof.Registered
	More bool
}

// acceptanceOf returns the decisions that can count on a request under its own rule, now or after an
// escalation. If the rule names roles, acceptanceOf keeps the keys of all identities, because any identity may
// hold a role when it decides.
func (a *Approvals) acceptanceOf(rule policy.ApprovalRule, requestedBy, onBehalfOf string, keys RequestKeys) *contract.Acceptance {
	out := &contract.Acceptance{Unsigned: rule.AllowUnsigned, IDTokens: a.parts.IDTokens != nil, MoreKeys: keys.More}
	// No request waits longer than MaxExpiry, so this rule contains every escalation.
	widest := rule.At(document.MaxExpiry)
	for _, k := range keys.Keys {
		may, _ := widest.MayDecide(policy.Voter{Identity: k.Identity, Signed: true}, requestedBy, onBehalfOf)
		mayWithdraw := k.Identity == requestedBy
		canCount := may || mayWithdraw || widest.NeedsRoles()
		if !canCount {
			continue
		}
		if len(out.Keys) == contract.MaxAcceptedKeys {
			out.MoreKeys = true
			break
		}
		out.Keys = append(out.Keys, contract.AcceptedKey{ID: k.Key.ID(), Public: k.Key.Bytes(), Identity: k.Identity})
	}
	return out
}
