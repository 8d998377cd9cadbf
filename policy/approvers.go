package policy

import (
	"cmp"
	"slices"
)

// approvers is what a rule or an override changes about approvals.
type approvers struct {
	// expiresAfterMs is 0 if it does not change.
	expiresAfterMs int64
	approvers      []Pattern
	quorum         int
	chain          []Seat
}

func (a approvers) isZero() bool { return a.expiresAfterMs == 0 && !a.namesPeople() }

// namesPeople reports whether other people than before have to approve.
func (a approvers) namesPeople() bool { return a.approvers != nil || a.quorum > 0 || a.chain != nil }

// with returns the rule with the changes. If other people have to approve, nothing stays of
// the rule that lets somebody else decide: neither its escalations nor remembered approvals.
func (a ApprovalRule) with(changes approvers) ApprovalRule {
	a = a.clone()
	a.ExpiresAfterMs = cmp.Or(changes.expiresAfterMs, a.ExpiresAfterMs)
	if !changes.namesPeople() {
		return a
	}
	a.Approvers, a.Quorum, a.Chain = slices.Clone(changes.approvers), changes.quorum, cloneSeats(changes.chain)
	a.Escalate, a.RememberForMs, a.RememberAnyArgs, a.RememberAnyActor = nil, 0, false, false
	return a
}

func cloneSeats(seats []Seat) []Seat {
	seats = slices.Clone(seats)
	for i := range seats {
		seats[i].Approvers = slices.Clone(seats[i].Approvers)
	}
	return seats
}
