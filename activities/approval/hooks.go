package approval

import (
	"errors"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// ruleOf returns the rule of a request: the rule of policy, with the people and the lifetimes for which hooks
// ask. A hook can only make the rule stricter.
func ruleOf(rule policy.ApprovalRule, asks []hook.Ask) (policy.ApprovalRule, error) {
	var people []policy.HookEntries
	for _, ask := range asks {
		approvals := ask.Approvals
		if approvals == nil {
			continue
		}
		if approvals.Check() != nil {
			// The worker of a hook checks the approvals of the hook, so these approvals do not come from a worker.
			return policy.ApprovalRule{}, errors.New("approvals of a hook are not valid")
		}
		if approvals.ExpiresAfter > 0 {
			rule = rule.ExpiresWithin(approvals.ExpiresAfter)
		}
		if approvals.Names() {
			people = append(people, policy.HookEntries{Hook: ask.Hook, Entries: entriesOf(approvals)})
		}
	}
	return rule.Besides(people...)
}

// entriesOf returns the people for whom a hook asks, as entries of a chain.
func entriesOf(a *hook.Approvals) []policy.ChainEntry {
	var entries []policy.ChainEntry
	for _, s := range a.Entries() {
		entry := policy.ChainEntry{Name: s.Name, Quorum: s.Quorum}
		for _, name := range s.Approvers {
			entry.Approvers = append(entry.Approvers, document.Pattern(name))
		}
		entries = append(entries, entry)
	}
	return entries
}

// message returns the text for the approvers: the message of the ask for which the call waits, and the messages
// of the hooks that name approvers.
func message(ask hook.Ask, asks []hook.Ask) string {
	var messages []string
	add := func(text string) {
		if text != "" && !slices.Contains(messages, text) {
			messages = append(messages, text)
		}
	}
	add(ask.Message)
	for _, a := range asks {
		if a.Approvals.Names() {
			add(a.Message)
		}
	}
	return strings.Join(messages, "; ")
}
