package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
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
	// Approvers are the identities that may decide. Empty means anyone.
	Approvers []Pattern `json:"approvers,omitempty"`
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
// allowUnsigned, approvers, enabled} with the approvers sorted and each once. The
// life of a request is not part of it, for that was fixed when it opened, nor is
// how long a parked call waits.
func (a ApprovalRule) Digest() string {
	approvers := slices.Clone(a.Approvers)
	slices.Sort(approvers)
	if approvers = slices.Compact(approvers); approvers == nil {
		approvers = []Pattern{}
	}
	sum := sha256.Sum256(canonical(map[string]any{
		"allowSelfApproval": a.AllowSelfApproval,
		"allowUnsigned":     a.AllowUnsigned,
		"approvers":         approvers,
		"enabled":           a.Enabled,
	}))
	return hex.EncodeToString(sum[:])
}

// MayDecide says whether the approver's decision on a call of the requester
// counts; signed says that a proof of the approver was verified. The reason is
// safe to show and empty where ok. Identities are compared byte by byte. Whether
// a requester may withdraw the own request is not its question.
func (a ApprovalRule) MayDecide(approver, requester string, signed bool) (ok bool, reason string) {
	switch {
	case !a.Enabled:
		return false, "approvals are off for this tenant"
	case approver == "":
		return false, "the decision names no approver"
	case !signed && !a.AllowUnsigned:
		return false, "policy counts only signed decisions"
	// An unknown requester could be the approver.
	case !a.AllowSelfApproval && (requester == "" || approver == requester):
		return false, "policy does not let the requester decide on the own call"
	case len(a.Approvers) > 0 && !matchesAny(a.Approvers, approver):
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
	who := "anyone"
	if len(a.Approvers) > 0 {
		names := make([]string, len(a.Approvers))
		for i, p := range a.Approvers {
			names[i] = string(p)
		}
		who = strings.Join(names, " or ")
	}
	if requester == "" {
		requester = "the requester"
	}
	if !a.AllowSelfApproval {
		who = fmt.Sprintf("%s but %s", who, requester)
	}
	if a.AllowUnsigned {
		return who + "; unsigned decisions count"
	}
	return who + "; only signed decisions count"
}

func (a ApprovalRule) clone() ApprovalRule {
	a.Approvers = slices.Clone(a.Approvers)
	return a
}
