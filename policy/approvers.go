package policy

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/pawl-run/pawl/policy/document"
)

// approvers is the change that a rule or an override makes to the approvals.
type approvers struct {
	// expiresAfterMs is 0 if the lifetime does not change.
	expiresAfterMs int64
	approvers      []document.Pattern
	quorum         int
	chain          []Seat
}

func (a approvers) isZero() bool { return a.expiresAfterMs == 0 && !a.namesPeople() }

// namesPeople reports whether other people than before have to approve, or more of them.
func (a approvers) namesPeople() bool { return a.approvers != nil || a.quorum > 0 || a.chain != nil }

// with returns the rule with the changes. If they name approvers or a chain, nothing stays of
// the rule that lets somebody else decide: neither its escalations nor remembered approvals. A
// quorum alone is of the same people as before.
func (a ApprovalRule) with(changes approvers) ApprovalRule {
	a = a.clone()
	a.ExpiresAfterMs = cmp.Or(changes.expiresAfterMs, a.ExpiresAfterMs)
	switch {
	case changes.approvers != nil || changes.chain != nil:
		a.Approvers, a.Quorum, a.Chain = slices.Clone(changes.approvers), changes.quorum, cloneSeats(changes.chain)
		a.Escalate = nil
		return a.unremembered()
	case changes.quorum > 0:
		a.Quorum = changes.quorum // the reader refuses it if a has a chain
		return a.unremembered()
	}
	return a
}

// and returns the rule by which the people of both rules have to approve: those of a first. Seats
// that anyone can take come last, so that nobody who is named takes one of them.
func (a ApprovalRule) and(b ApprovalRule) ApprovalRule {
	a.ExpiresAfterMs = min(a.ExpiresAfterMs, b.ExpiresAfterMs)
	var named, open []Seat
	for _, s := range slices.Concat(a.seats(), b.seats()) {
		if len(s.Approvers) > 0 {
			named = append(named, s)
		} else {
			open = append(open, s)
		}
	}
	a.Chain = slices.Concat(named, open)
	a.Approvers, a.Quorum, a.Escalate = nil, 0, nil
	return a.unremembered()
}

// HookSeats are the people whom a hook asks for.
type HookSeats struct {
	// Hook is the name of the hook.
	Hook string `json:"hook"`
	// Seats are asked one after the other. None of them is for anyone.
	Seats []Seat `json:"seats"`
}

// Besides returns the rule of a request for which hooks ask for people too. What policy asks
// stays as it is: its people, their number and order, who must not decide, and its escalations,
// which let nobody take a seat of a hook. No approval is remembered, because a remembered
// approval is of policy's people. Besides returns an error if a set of people of a hook is empty,
// because everybody would be in it.
func (a ApprovalRule) Besides(hooks ...HookSeats) (ApprovalRule, error) {
	if len(hooks) == 0 {
		return a, nil
	}
	a = a.clone()
	for _, h := range hooks {
		if len(h.Seats) == 0 || slices.ContainsFunc(h.Seats, func(s Seat) bool { return len(s.Approvers) == 0 }) {
			return ApprovalRule{}, errNobody
		}
		a.Hooks = append(a.Hooks, HookSeats{Hook: h.Hook, Seats: cloneSeats(h.Seats)})
	}
	return a.unremembered(), nil
}

var errNobody = errors.New("a hook asks for approvers and names none")

// ExpiresWithin returns the rule with a lifetime of at most d.
func (a ApprovalRule) ExpiresWithin(d time.Duration) ApprovalRule {
	a.ExpiresAfterMs = min(a.ExpiresAfterMs, d.Milliseconds())
	return a
}

// unremembered returns the rule without remembered approvals.
func (a ApprovalRule) unremembered() ApprovalRule {
	a.RememberForMs, a.RememberAnyArgs, a.RememberAnyActor = 0, false, false
	return a
}

func cloneSeats(seats []Seat) []Seat {
	seats = slices.Clone(seats)
	for i := range seats {
		seats[i].Approvers = slices.Clone(seats[i].Approvers)
	}
	return seats
}
