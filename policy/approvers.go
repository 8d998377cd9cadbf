package policy

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/pawl-run/pawl/policy/document"
)

// approvers is the change that a rule or an override makes to the approvals of the tenant: who approves, and how
// long a request stays open. The zero value changes nothing.
type approvers struct {
	// expiresAfterMs is 0 if the lifetime does not change.
	expiresAfterMs int64
	approvers      []document.Pattern
	quorum         int
	chain          []ChainEntry
}

func (a approvers) isZero() bool { return a.expiresAfterMs == 0 && !a.namesPeople() }

// namesPeople reports whether the change names other approvers, or asks for more of them.
func (a approvers) namesPeople() bool { return a.approvers != nil || a.quorum > 0 || a.chain != nil }

// with returns the rule with the changes. If the changes name approvers or a chain, the result has
// no escalations and no remembered approvals, because these would let other people decide. If the
// changes have only a quorum, the approvers stay the same, and no approval is remembered.
func (a ApprovalRule) with(changes approvers) ApprovalRule {
	a = a.clone()
	a.ExpiresAfterMs = cmp.Or(changes.expiresAfterMs, a.ExpiresAfterMs)
	switch {
	case changes.approvers != nil || changes.chain != nil:
		a.Approvers, a.Quorum, a.Chain = slices.Clone(changes.approvers), changes.quorum, cloneEntries(changes.chain)
		a.Escalate = nil
		return a.Unremembered()
	case changes.quorum > 0:
		a.Quorum = changes.quorum // the reader refuses it if a has a chain
		return a.Unremembered()
	}
	return a
}

// and returns a rule that asks the entries of a, and then the entries of b. Entries without approvers, which are open to
// everybody, come last: an approval counts for the first entry that waits, so an open entry in front would take the
// approval of a named approver. The rule has the shorter of both lifetimes, no escalations and no remembered approvals.
func (a ApprovalRule) and(b ApprovalRule) ApprovalRule {
	a.ExpiresAfterMs = min(a.ExpiresAfterMs, b.ExpiresAfterMs)
	var named, open []ChainEntry
	for _, s := range slices.Concat(a.entries(), b.entries()) {
		if len(s.Approvers) > 0 {
			named = append(named, s)
		} else {
			open = append(open, s)
		}
	}
	a.Chain = slices.Concat(named, open)
	a.Approvers, a.Quorum, a.Escalate = nil, 0, nil
	return a.Unremembered()
}

// HookEntries are the people whom a hook asks for.
type HookEntries struct {
	// Hook is the name of the hook.
	Hook string `json:"hook"`
	// Entries are asked one after the other. Each entry names approvers.
	Entries []ChainEntry `json:"entries"`
}

// Besides returns the rule of a request for which hooks ask for people too. What policy says does
// not change: its approvers, their number and order, the people who must not decide, and its
// escalations. An escalation adds no people to an entry of a hook. No approval is remembered,
// because a remembered approval comes only from the people whom policy names. Besides returns an
// error if an entry of a hook names nobody, because everybody could approve for it.
func (a ApprovalRule) Besides(hooks ...HookEntries) (ApprovalRule, error) {
	if len(hooks) == 0 {
		return a, nil
	}
	a = a.clone()
	for _, h := range hooks {
		if len(h.Entries) == 0 || slices.ContainsFunc(h.Entries, func(s ChainEntry) bool { return len(s.Approvers) == 0 }) {
			return ApprovalRule{}, errNoApprovers
		}
		a.Hooks = append(a.Hooks, HookEntries{Hook: h.Hook, Entries: cloneEntries(h.Entries)})
	}
	return a.Unremembered(), nil
}

var errNoApprovers = errors.New("a hook asks for approvers and names none")

// ExpiresWithin returns the rule with a lifetime of at most d.
func (a ApprovalRule) ExpiresWithin(d time.Duration) ApprovalRule {
	a.ExpiresAfterMs = min(a.ExpiresAfterMs, d.Milliseconds())
	return a
}

// Unremembered returns the rule without remembered approvals.
func (a ApprovalRule) Unremembered() ApprovalRule {
	a.RememberForMs, a.RememberAnyArgs, a.RememberAnyActor = 0, false, false
	return a
}

func cloneEntries(entries []ChainEntry) []ChainEntry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Approvers = slices.Clone(entries[i].Approvers)
	}
	return entries
}
