package policy

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// Asked returns the rule for a request of a hook with approvals of its own. also says that policy
// asks for the call too. Then the people of a approve first, and the people of the hook after
// them. Escalations and remembered approvals do not apply, because they would let other people
// decide. The error says what is wrong with the approvals of the hook. It names no approver.
func (a ApprovalRule) Asked(by hook.Approvals, also bool) (ApprovalRule, error) {
	changes, err := readApprovers(by)
	if err != nil {
		return ApprovalRule{}, err
	}
	if life := changes.expiresAfterMs; life > a.ExpiresAfterMs {
		changes.expiresAfterMs = 0
	}
	if also && changes.namesPeople() {
		theirs := ApprovalRule{}.with(changes)
		changes.chain = slices.Concat(a.seats(), theirs.seats())
		changes.approvers, changes.quorum = nil, 0
	}
	a = a.with(changes)
	a.Escalate, a.RememberForMs, a.RememberAnyArgs, a.RememberAnyActor = nil, 0, false, false
	return a, nil
}

// readApprovers reads the approvals of a hook as the reader reads the approvals of a policy.
func readApprovers(by hook.Approvals) (approvers, error) {
	doc := approversDoc{Approvers: patterns(by.Approvers), Quorum: int64(by.Quorum)}
	if by.ExpiresAfter != 0 {
		doc.ExpiresAfter = by.ExpiresAfter.String()
	}
	for _, e := range by.Chain {
		doc.Chain = append(doc.Chain, seatDoc{Name: e.Name, Approvers: patterns(e.Approvers), Quorum: int64(e.Quorum)})
	}
	r := &reader{file: "approvals of a hook"}
	if root := r.load(canonical(doc)); root != nil {
		doc = r.approversOf(root, "approvals")
	}
	if len(r.faults) > 0 {
		return approvers{}, r.faults.sorted()
	}
	return compileApprovers(doc), nil
}

func patterns(names []string) (list []Pattern) {
	for _, name := range names {
		list = append(list, Pattern(name))
	}
	return list
}
