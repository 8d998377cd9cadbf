package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/document"
)

// ChainEntry is a set of people, some of whom have to approve.
type ChainEntry struct {
	// Name is the name of the entry for people: "team lead". If it is empty, the approvers are
	// shown.
	Name string `json:"name,omitempty"`
	// Approvers has the form of ApprovalRule.Approvers.
	Approvers []document.Pattern `json:"approvers,omitempty"`
	// Quorum is the number of different people of the set who have to approve, at most document.MaxQuorum;
	// 0 means 1.
	Quorum int `json:"quorum,omitempty"`
}

// Voter is the person who decides.
type Voter struct {
	Identity string
	// Signed says that a proof of the identity was verified.
	Signed bool
	// Roles are the roles of the identity at the time of the decision.
	Roles []string
}

// NoEntry stands in the place of the index of an entry if an approval counts for no entry of policy, or for no
// entry of a hook.
const NoEntry = -1

// Vote is an approval that has already counted.
type Vote struct {
	// Entry is the index of the entry of policy that the approval counts for, or NoEntry.
	Entry    int    `json:"entry"`
	Approver string `json:"approver"`
	// HookEntries has, for each hook in ApprovalRule.Hooks, the index of the hook's entry that the approval counts
	// for, or NoEntry.
	HookEntries []int `json:"hookEntries,omitempty"`
}

// Ruling is the judgement of an approval.
type Ruling struct {
	Counted bool
	// Reason says why the approval does not count, or what is still missing. It is safe to show.
	Reason string
	// Entry and HookEntries are as in Vote. HookEntries is nil if no hook names approvers.
	Entry       int
	HookEntries []int
	// Final says that nobody else has to approve.
	Final bool
}

// Approve judges an approval by v of a call of the requesters. votes are the approvals that have
// already counted. Policy has a list of entries, and each hook has one too. In each list, the
// approval counts for the first entry that still waits for approvals, if this entry names v. In
// each list a person counts once, even if several entries name the person.
//
// If the waiting entry of a list does not name v but a later entry of this list does, the approval
// does not count in any list yet. A person approves a request only once, so the later entry could
// not get the approval any more.
func (a ApprovalRule) Approve(v Voter, votes []Vote, requesters ...string) Ruling {
	if ok, reason := a.MayDecide(v, requesters...); !ok {
		return Ruling{Reason: reason}
	}
	if slices.ContainsFunc(votes, func(vote Vote) bool { return vote.Approver == v.Identity }) {
		return Ruling{Reason: "this approver has approved already; another person has to"}
	}
	effects := []listEffect{effectOn(a.entries(), v, votes, policyEntry)}
	for i, h := range a.Hooks {
		effects = append(effects, effectOn(h.Entries, v, votes, hookEntry(i)))
	}
	return rulingOf(effects)
}

// listEffect is the effect of one approval on one list of entries: the entries of policy, or those of one hook.
type listEffect struct {
	// entry is the index of the entry that the approval counts for, or NoEntry.
	entry int
	// isEarly says that the entry that waits does not name the approver, and a later entry does.
	isEarly bool
	// waitsFor describes the people for whom the list still waits after the approval. It is empty if it waits for
	// nobody.
	waitsFor string
	// progress is the text `1 of 2 approvals`. It is set if the approval counts for an entry that needs more
	// approvals.
	progress string
}

// next returns the index of the first entry that waits for approvals, and the number of approvals that it still
// needs. If no entry waits, the index is NoEntry. entryOf returns the index of the entry that a vote counts for.
func next(entries []ChainEntry, votes []Vote, entryOf func(Vote) int) (i, missing int) {
	for i, s := range entries {
		missing := s.quorum()
		for _, vote := range votes {
			if entryOf(vote) == i {
				missing--
			}
		}
		if missing > 0 {
			return i, missing
		}
	}
	return NoEntry, 0
}

// effectOn returns the effect of an approval by v on the list entries. votes are the approvals that have already
// counted, and entryOf returns the entry of this list that a vote counts for.
func effectOn(entries []ChainEntry, v Voter, votes []Vote, entryOf func(Vote) int) listEffect {
	i, missing := next(entries, votes, entryOf)
	if i == NoEntry {
		return listEffect{entry: NoEntry}
	}
	s := entries[i]
	switch {
	case !s.has(v):
		isEarly := slices.ContainsFunc(entries[i+1:], func(s ChainEntry) bool { return s.has(v) })
		return listEffect{entry: NoEntry, isEarly: isEarly, waitsFor: s.describe()}
	case missing > 1:
		return listEffect{entry: i, waitsFor: s.describe(), progress: fmt.Sprintf("%d of %d approvals", s.quorum()-missing+1, s.quorum())}
	case i == len(entries)-1:
		return listEffect{entry: i}
	}
	return listEffect{entry: i, waitsFor: entries[i+1].describe()}
}

// rulingOf returns the ruling of an approval from its effects: first the effect on the entries of policy, then one
// for each hook. The approval does not count if it is early in one list, or counts for no entry of any list.
func rulingOf(effects []listEffect) Ruling {
	var early, waiting *listEffect // the first list in which the approval is early, and the first list that still waits
	counts := false
	for i := range effects {
		e := &effects[i]
		counts = counts || e.entry != NoEntry
		if e.isEarly && early == nil {
			early = e
		}
		if e.waitsFor != "" && waiting == nil {
			waiting = e
		}
	}
	switch {
	case waiting == nil && !counts:
		// An earlier approval was final: the rule of a request does not change, so no list can wait again.
		return Ruling{Reason: "nobody else has to approve"}
	case early != nil || !counts:
		return Ruling{Reason: "it is not this approver's turn; the request waits for " + cmp.Or(early, waiting).waitsFor}
	}
	r := Ruling{Counted: true, Entry: effects[0].entry, Final: waiting == nil}
	for _, e := range effects[1:] {
		r.HookEntries = append(r.HookEntries, e.entry)
	}
	switch {
	case r.Final:
	case waiting.progress != "":
		r.Reason = waiting.progress
	default:
		r.Reason = "the request now waits for " + waiting.waitsFor
	}
	return r
}

// policyEntry returns the index of the entry of policy that a vote counts for, or NoEntry.
func policyEntry(v Vote) int { return v.Entry }

// hookEntry returns a function for the hook at index i of ApprovalRule.Hooks. The function returns the index of
// the hook's entry that a vote counts for, or NoEntry.
func hookEntry(i int) func(Vote) int {
	return func(v Vote) int {
		if i >= len(v.HookEntries) {
			return NoEntry
		}
		return v.HookEntries[i]
	}
}

// Missing describes the approvals that a request still waits for after the votes: first the
// approvals for policy, then the approvals for each hook. It returns nil if nobody else has to
// approve.
func (a ApprovalRule) Missing(votes []Vote) (missing []string) {
	add := func(entries []ChainEntry, entryOf func(Vote) int) {
		i, n := next(entries, votes, entryOf)
		if i == NoEntry {
			return
		}
		for j, s := range entries[i:] {
			text := s.describe()
			if j == 0 && n < s.quorum() {
				s.Quorum = 1
				text = fmt.Sprintf("%d of %s", n, s.describe()) // also of one, so that it does not read as the whole entry
			}
			missing = append(missing, text)
		}
	}
	add(a.entries(), policyEntry)
	for i, h := range a.Hooks {
		add(h.Entries, hookEntry(i))
	}
	return missing
}

// entries returns the chain, or one entry for a rule without a chain.
func (a ApprovalRule) entries() []ChainEntry {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []ChainEntry{{Approvers: a.Approvers, Quorum: a.Quorum}}
}

// allEntries returns the entries of policy and then those of the hooks.
func (a ApprovalRule) allEntries() []ChainEntry {
	all := a.entries()
	for _, h := range a.Hooks {
		all = slices.Concat(all, h.Entries)
	}
	return all
}

func (s ChainEntry) quorum() int { return max(s.Quorum, 1) }

// has reports whether the voter is in the set. A role entry matches roles only, never an
// identity.
func (s ChainEntry) has(v Voter) bool {
	return len(s.Approvers) == 0 || slices.ContainsFunc(s.Approvers, func(p document.Pattern) bool {
		if role, ok := strings.CutPrefix(string(p), authz.RolePrefix); ok {
			return slices.Contains(v.Roles, role)
		}
		return p.Matches(v.Identity)
	})
}

// describe returns the people of the entry as text: `2 of team lead (user:ann or role:ops)`.
func (s ChainEntry) describe() string {
	who := "anyone"
	if len(s.Approvers) > 0 {
		names := make([]string, len(s.Approvers))
		for i, p := range s.Approvers {
			names[i] = p.Quoted()
		}
		who = strings.Join(names, " or ")
	}
	if s.Name != "" {
		who = fmt.Sprintf("%s (%s)", s.Name, who)
	}
	if s.quorum() > 1 {
		return fmt.Sprintf("%d of %s", s.quorum(), who)
	}
	return who
}

// NeedsRoles reports whether a role may decide, now or after an escalation.
func (a ApprovalRule) NeedsRoles() bool {
	byRole := func(p document.Pattern) bool { return strings.HasPrefix(string(p), authz.RolePrefix) }
	return slices.ContainsFunc(a.allEntries(), func(s ChainEntry) bool { return slices.ContainsFunc(s.Approvers, byRole) }) ||
		slices.ContainsFunc(a.Escalate, func(e Escalation) bool { return slices.ContainsFunc(e.Approvers, byRole) })
}
