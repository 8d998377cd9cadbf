package policy

import (
	"cmp"
	"slices"
)

// approvers is the change that a rule or an override makes to the approvals.
type approvers struct {
	// expiresAfterMs is 0 if the lifetime does not change.
	expiresAfterMs int64
	approvers      []Pattern
	quorum         int
	chain          []Seat
}

func (a approvers) isZero() bool { return a.expiresAfterMs == 0 && !a.namesPeople() }

// namesPeople reports whether the change replaces the people who have to approve.
func (a approvers) namesPeople() bool { return a.approvers != nil || a.quorum > 0 || a.chain != nil }

// with returns the rule with the changes. If the changes replace the people who have to approve,
// the result has no escalations and remembers no approvals, because both would let other people
// decide.
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
