package hook

import (
	"bytes"
	"encoding/json"
	"time"
)

// Ask asks for the approval of a call.
type Ask struct {
	// Message tells approvers and callers why; it is safe to show.
	Message string `json:"message,omitempty"`
	// Rule names what asks, such as a rule of the policy.
	Rule string `json:"rule,omitempty"`
	// Approvals says who approves. If policy asks for the call too, the people whom policy
	// names approve first, and these after them. Nil leaves it to policy.
	Approvals *Approvals `json:"approvals,omitempty"`
}

// Approvals says who approves a call, with the bounds that policy has for approvals of a rule:
// docs/policy.md. Either Chain is set, or Approvers and Quorum are. Approvals that break a
// bound fail the call with internal. What policy says of every approval still applies, such
// as whether the requester may approve and whether a decision must be signed.
type Approvals struct {
	// Approvers are identities, prefixes of identities with a * at the end, and role:NAME for
	// everybody with a role of the tenant. None are anyone but the requester.
	Approvers []string `json:"approvers,omitempty"`
	// Quorum is how many different people have to approve, 1 to 16; 0 is one.
	Quorum int `json:"quorum,omitempty"`
	// Chain asks one entry after the other, at most 8. Nobody approves for two entries.
	Chain []Approvers `json:"chain,omitempty"`
	// ExpiresAfter is the longest life of the request, 1 s to 30 days in whole seconds. It
	// does not lengthen the life that policy sets. 0 leaves it to policy.
	ExpiresAfter time.Duration `json:"expiresAfter,omitempty"`
}

// Approvers is one entry of a chain.
type Approvers struct {
	// Name is shown to people, such as "team lead". It may be empty.
	Name string `json:"name,omitempty"`
	// Approvers and Quorum are as in Approvals.
	Approvers []string `json:"approvers,omitempty"`
	Quorum    int      `json:"quorum,omitempty"`
}

// covers reports whether an approval is of what a hook asks for.
func (g *GrantedApproval) covers(ask Ask) bool {
	return g != nil && (ask.Approvals == nil || g.Approvals.same(ask.Approvals))
}

// same compares approvals as they are recorded, where an empty list and none are the same.
func (a *Approvals) same(b *Approvals) bool {
	as, errA := json.Marshal(a)
	bs, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(as, bs)
}

// And returns the question of policy together with that of a hook.
func (a Ask) And(of Ask) Ask {
	if a.Message == "" {
		a.Message = of.Message
	} else if of.Message != "" && of.Message != a.Message {
		a.Message += "; " + of.Message
	}
	if of.Approvals != nil {
		a.Approvals = of.Approvals
	}
	return a
}
