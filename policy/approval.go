package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// ApprovalRule says who may decide on the approval requests of a tenant, and how long a request
// stays open. The zero rule lets nobody decide.
type ApprovalRule struct {
	// Enabled is false if the tenant has no approvals. require_approval then means deny.
	Enabled bool `json:"enabled"`
	// ExpiresAfterMs is the lifetime of a request in milliseconds: whole seconds from
	// document.MinExpiry to document.MaxExpiry.
	ExpiresAfterMs int64 `json:"expiresAfterMs,omitempty"`
	// AllowSelfApproval lets requesters decide on their own calls.
	AllowSelfApproval bool `json:"allowSelfApproval,omitempty"`
	// AllowUnsigned lets decisions without a proof count. Everybody with access to the namespace
	// can then decide under any name, so it is for development only.
	AllowUnsigned bool `json:"allowUnsigned,omitempty"`
	// ParkUnknownMs is how long a call with an unknown outcome waits for a decision, in
	// milliseconds: whole seconds from document.MinExpiry to document.MaxExpiry. With 0 the call does not wait and
	// settles with the unknown outcome.
	ParkUnknownMs int64 `json:"parkUnknownMs,omitempty"`
	// Approvers are the identities that may decide: patterns of identities, and role:NAME for
	// every identity with that role. If it is empty, everybody may decide.
	Approvers []document.Pattern `json:"approvers,omitempty"`
	// Quorum is the number of people who have to approve; 0 means 1.
	Quorum int `json:"quorum,omitempty"`
	// RememberForMs is how long an approval may be remembered for later calls, in milliseconds; 0
	// forbids remembering. RememberAnyArgs and RememberAnyActor let a remembered approval cover
	// other arguments and other actors.
	RememberForMs    int64 `json:"rememberForMs,omitempty"`
	RememberAnyArgs  bool  `json:"rememberAnyArgs,omitempty"`
	RememberAnyActor bool  `json:"rememberAnyActor,omitempty"`
	// Chain has groups of approvers who are asked one after the other. It replaces Approvers and Quorum.
	Chain []ChainEntry `json:"chain,omitempty"`
	// RemindAfterMs is how long a request waits before its approvers get a reminder, in
	// milliseconds; 0 sends no reminder.
	RemindAfterMs int64 `json:"remindAfterMs,omitempty"`
	// Escalate are the steps that let further people decide, the earliest step first.
	Escalate []Escalation `json:"escalate,omitempty"`
	// Hooks are the people who have to approve because hooks ask for them. A policy never has this
	// field: Besides sets it in the rule of an approval request.
	Hooks []HookEntries `json:"hooks,omitempty"`
}

// ExpiresAfter returns the lifetime of a request.
func (a ApprovalRule) ExpiresAfter() time.Duration {
	return time.Duration(a.ExpiresAfterMs) * time.Millisecond
}

// ParkUnknown returns how long a call with an unknown outcome waits for a decision. It is 0 if
// the call does not wait or approvals are off.
func (a ApprovalRule) ParkUnknown() time.Duration {
	if !a.Enabled {
		return 0
	}
	return time.Duration(a.ParkUnknownMs) * time.Millisecond
}

// Digest identifies the part of the rule that says who may decide. A different digest makes an open request stale.
// It is the hexadecimal SHA-256 of the RFC 8785 JSON of {allowSelfApproval, allowUnsigned, approvers, enabled},
// with the approvers sorted and without duplicates. The JSON also has quorum if it is more than one, and chain,
// escalate and hooks if the rule has any. It does not have the lifetime of a request, because that is fixed when
// the request opens, and not the times of reminders, parking and remembered approvals.
func (a ApprovalRule) Digest() string {
	parts := map[string]any{
		"allowSelfApproval": a.AllowSelfApproval,
		"allowUnsigned":     a.AllowUnsigned,
		"approvers":         sortPatterns(a.Approvers),
		"enabled":           a.Enabled,
	}
	if a.Quorum > 1 {
		parts["quorum"] = a.Quorum
	}
	if len(a.Chain) > 0 {
		parts["chain"] = entriesForDigest(a.Chain)
	}
	if len(a.Escalate) > 0 {
		steps := make([]any, len(a.Escalate))
		for i, e := range a.Escalate {
			steps[i] = map[string]any{"afterMs": e.AfterMs, "approvers": sortPatterns(e.Approvers)}
		}
		parts["escalate"] = steps
	}
	if len(a.Hooks) > 0 {
		hooks := make([]any, len(a.Hooks))
		for i, h := range a.Hooks {
			hooks[i] = entriesForDigest(h.Entries)
		}
		parts["hooks"] = hooks
	}
	sum := sha256.Sum256(document.Canonical(parts))
	return hex.EncodeToString(sum[:])
}

// entriesForDigest returns a chain as plain data for the JSON of Digest. The names of the entries do not count.
func entriesForDigest(entries []ChainEntry) []any {
	out := make([]any, len(entries))
	for i, s := range entries {
		out[i] = map[string]any{"approvers": sortPatterns(s.Approvers), "quorum": s.quorum()}
	}
	return out
}

func sortPatterns(patterns []document.Pattern) []document.Pattern {
	patterns = slices.Clone(patterns)
	slices.Sort(patterns)
	if patterns = slices.Compact(patterns); patterns == nil {
		return []document.Pattern{}
	}
	return patterns
}

// MayDecide reports whether a decision of v on a call of the requesters may count. The requesters
// are the actor and the subject of the call. The reason is safe to show, and empty if ok.
// Identities are compared byte by byte. MayDecide refuses people of a later escalation step; the
// rule that At returns includes them. For an approval, Approve checks more; for any other
// decision MayDecide is the whole check. It does not check whether requesters may withdraw their
// own request.
func (a ApprovalRule) MayDecide(v Voter, requesters ...string) (ok bool, reason string) {
	switch {
	case !a.Enabled:
		return false, "approvals are off for this tenant"
	case v.Identity == "":
		return false, "the decision names no approver"
	case !v.Signed && !a.AllowUnsigned:
		return false, toolspec.ReasonUnsigned
	// An unknown requester may be the same person as the approver.
	case !a.AllowSelfApproval && (len(requesters) == 0 || requesters[0] == "" || slices.Contains(requesters, v.Identity)):
		return false, "policy does not let the requester decide on the own call"
	case !slices.ContainsFunc(a.allEntries(), func(s ChainEntry) bool { return s.has(v) }):
		if e, ok := a.laterStepFor(v); ok {
			return false, fmt.Sprintf("this approver may not decide yet; the request goes to %s after %s", e.Describe(), document.Brief(e.After()))
		}
		return false, "policy does not name this approver"
	}
	return true, ""
}

// Describe returns a text that says who may decide on a call. requesters are the actor and the subject of the
// call, or "" if they are not known. Approvers see the text with the request: `anyone but user:ann; unsigned
// decisions count`.
func (a ApprovalRule) Describe(requesters ...string) string {
	if !a.Enabled {
		return "nobody; approvals are off"
	}
	text := describe(a.entries())
	if !a.AllowSelfApproval {
		text += exceptRequesters(text, requesters)
	}
	text += a.describeEscalations()
	for _, h := range a.Hooks {
		text += fmt.Sprintf("; hook %s asks for %s", h.Hook, describe(h.Entries))
	}
	if a.AllowUnsigned {
		return text + "; unsigned decisions count"
	}
	return text + "; only signed decisions count"
}

// describe returns a text that names the people of a chain.
func describe(entries []ChainEntry) string {
	who := make([]string, len(entries))
	for i, s := range entries {
		who[i] = s.describe()
	}
	return strings.Join(who, ", then ")
}

// exceptRequesters returns the end of a sentence that begins with text and names approvers. It excludes the
// requesters: ` but user:ann`. If no requester is known yet, it says `the requester`.
func exceptRequesters(text string, requesters []string) string {
	var names []string
	for _, r := range requesters {
		if name := toolspec.Quoted(r); r != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	except := strings.Join(names, " or ")
	switch anyone := strings.HasSuffix(text, "anyone"); {
	case anyone:
		return " but " + cmp.Or(except, "the requester")
	case len(names) < 2:
		return ", but not the requester" + strings.TrimRight(" "+except, " ")
	}
	return ", but not the requesters " + except
}

func (a ApprovalRule) clone() ApprovalRule {
	a.Hooks = slices.Clone(a.Hooks)
	for i := range a.Hooks {
		a.Hooks[i].Entries = cloneEntries(a.Hooks[i].Entries)
	}
	a.Approvers = slices.Clone(a.Approvers)
	a.Chain = cloneEntries(a.Chain)
	a.Escalate = slices.Clone(a.Escalate)
	for i := range a.Escalate {
		a.Escalate[i].Approvers = slices.Clone(a.Escalate[i].Approvers)
	}
	return a
}
