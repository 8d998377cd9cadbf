package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds and default of the life of an approval request.
const (
	DefaultExpiry = 24 * time.Hour
	MinExpiry     = time.Second
	MaxExpiry     = 30 * 24 * time.Hour
)

// ApprovalRule says who may decide on a tenant's requests, and for how long one
// stays open. The zero rule lets nobody decide.
type ApprovalRule struct {
	// Enabled is false where nobody is asked: require_approval is deny then.
	Enabled bool `json:"enabled"`
	// ExpiresAfterMs is the life of a request in milliseconds, MinExpiry to
	// MaxExpiry, whole seconds.
	ExpiresAfterMs int64 `json:"expiresAfterMs,omitempty"`
	// AllowSelfApproval lets a requester decide on the own call.
	AllowSelfApproval bool `json:"allowSelfApproval,omitempty"`
	// AllowUnsigned lets decisions count that carry no proof. Anyone who reaches
	// the namespace can then decide under any name: for development only.
	AllowUnsigned bool `json:"allowUnsigned,omitempty"`
	// ParkUnknownMs is how long a call of which nobody knows whether it took effect
	// waits for a decision, in milliseconds, MinExpiry to MaxExpiry, whole seconds;
	// 0 settles it as it is.
	ParkUnknownMs int64 `json:"parkUnknownMs,omitempty"`
	// Approvers may decide: patterns of identities, and role:NAME for everybody who
	// has the role. Empty means anyone.
	Approvers []Pattern `json:"approvers,omitempty"`
	// Quorum is how many people have to approve; 0 is one.
	Quorum int `json:"quorum,omitempty"`
	// RememberForMs is how long an approval may be remembered for later calls, in
	// milliseconds; 0 remembers none. RememberAnyArgs and RememberAnyActor let it be
	// for other arguments and actors than the approved ones.
	RememberForMs    int64 `json:"rememberForMs,omitempty"`
	RememberAnyArgs  bool  `json:"rememberAnyArgs,omitempty"`
	RememberAnyActor bool  `json:"rememberAnyActor,omitempty"`
	// Chain asks one seat after the other, instead of Approvers and Quorum.
	Chain []Seat `json:"chain,omitempty"`
	// RemindAfterMs is how long a request waits until its approvers are reminded, in
	// milliseconds; 0 reminds nobody.
	RemindAfterMs int64 `json:"remindAfterMs,omitempty"`
	// Escalate lets further people decide, the sooner steps first.
	Escalate []Escalation `json:"escalate,omitempty"`
}

// ExpiresAfter is the life of a request.
func (a ApprovalRule) ExpiresAfter() time.Duration {
	return time.Duration(a.ExpiresAfterMs) * time.Millisecond
}

// ParkUnknown is how long a call whose outcome is unknown waits for a decision; 0
// where it does not, or nobody may decide.
func (a ApprovalRule) ParkUnknown() time.Duration {
	if !a.Enabled {
		return 0
	}
	return time.Duration(a.ParkUnknownMs) * time.Millisecond
}

// Digest names who may decide: another digest makes an open request stale. It is
// the hexadecimal SHA-256 of the RFC 8785 JSON of {allowSelfApproval,
// allowUnsigned, approvers, enabled} with the approvers sorted and each once, and of
// chain or quorum where more than one person has to approve, and of escalate where
// others may later. The life of a request is not part of it, for that was fixed when
// it opened, nor is when somebody is reminded, how long a parked call waits or an
// approval is remembered.
func (a ApprovalRule) Digest() string {
	parts := map[string]any{
		"allowSelfApproval": a.AllowSelfApproval,
		"allowUnsigned":     a.AllowUnsigned,
		"approvers":         sorted(a.Approvers),
		"enabled":           a.Enabled,
	}
	if a.Quorum > 1 {
		parts["quorum"] = a.Quorum
	}
	if len(a.Chain) > 0 {
		seats := make([]any, len(a.Chain))
		for i, s := range a.Chain {
			seats[i] = map[string]any{"approvers": sorted(s.Approvers), "quorum": s.quorum()}
		}
		parts["chain"] = seats
	}
	if len(a.Escalate) > 0 {
		steps := make([]any, len(a.Escalate))
		for i, e := range a.Escalate {
			steps[i] = map[string]any{"afterMs": e.AfterMs, "approvers": sorted(e.Approvers)}
		}
		parts["escalate"] = steps
	}
	sum := sha256.Sum256(canonical(parts))
	return hex.EncodeToString(sum[:])
}

func sorted(patterns []Pattern) []Pattern {
	patterns = slices.Clone(patterns)
	slices.Sort(patterns)
	if patterns = slices.Compact(patterns); patterns == nil {
		return []Pattern{}
	}
	return patterns
}

// MayDecide says whether a decision on a call of the requesters counts: whoever asked,
// and on whose behalf. The reason is safe to show and empty where ok. Identities are
// compared byte by byte. Those to whom the request goes later may not yet: At is the
// rule by which they may. It is the whole question for every decision but an approval,
// for which Approve asks more. Whether a requester may withdraw the own request is not
// its question.
func (a ApprovalRule) MayDecide(v Voter, requesters ...string) (ok bool, reason string) {
	switch {
	case !a.Enabled:
		return false, "approvals are off for this tenant"
	case v.Identity == "":
		return false, "the decision names no approver"
	case !v.Signed && !a.AllowUnsigned:
		return false, "policy counts only signed decisions"
	// An unknown requester could be the approver.
	case !a.AllowSelfApproval && (len(requesters) == 0 || requesters[0] == "" || slices.Contains(requesters, v.Identity)):
		return false, "policy does not let the requester decide on the own call"
	case !slices.ContainsFunc(a.seats(), func(s Seat) bool { return s.has(v) }):
		if e, ok := a.comes(v); ok {
			return false, fmt.Sprintf("this approver may not decide yet; the request goes to %s after %s", e.Describe(), brief(e.After()))
		}
		return false, "policy does not name this approver"
	}
	return true, ""
}

// Describe says in words who may decide on a call of the requester, for the
// request that approvers see: `anyone but user:ann; unsigned decisions count`.
func (a ApprovalRule) Describe(requester string) string {
	if !a.Enabled {
		return "nobody; approvals are off"
	}
	seats := a.seats()
	who := make([]string, len(seats))
	for i, s := range seats {
		who[i] = s.describe()
	}
	text := strings.Join(who, ", then ")
	if requester == "" && !a.AllowSelfApproval {
		text += " but the requester"
	} else if !a.AllowSelfApproval {
		text = fmt.Sprintf("%s but %s", text, toolspec.Quoted(requester))
	}
	text += a.describeEscalations()
	if a.AllowUnsigned {
		return text + "; unsigned decisions count"
	}
	return text + "; only signed decisions count"
}

func (a ApprovalRule) clone() ApprovalRule {
	a.Approvers = slices.Clone(a.Approvers)
	a.Chain = cloneSeats(a.Chain)
	a.Escalate = slices.Clone(a.Escalate)
	for i := range a.Escalate {
		a.Escalate[i].Approvers = slices.Clone(a.Escalate[i].Approvers)
	}
	return a
}
