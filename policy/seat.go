package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
)

// Bounds of a seat and of a chain.
const (
	MaxQuorum = 16
	MaxSeats  = 8
)

// rolePrefix is the prefix of an approver that is a role.
const rolePrefix = authz.RolePrefix

// Seat is a set of people, some of whom have to approve.
type Seat struct {
	// Name is the name of the seat for people: "team lead". If it is empty, the approvers are
	// shown.
	Name string `json:"name,omitempty"`
	// Approvers has the form of ApprovalRule.Approvers.
	Approvers []Pattern `json:"approvers,omitempty"`
	// Quorum is the number of different people of the set who have to approve, at most MaxQuorum;
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

// Vote is an approval that has already counted.
type Vote struct {
	Seat     int    `json:"seat"`
	Approver string `json:"approver"`
}

// Ruling is the judgement of an approval.
type Ruling struct {
	Counted bool
	// Reason says why the approval does not count, or what is still missing. It is safe to show.
	Reason string
	// Seat is the index of the seat that the approval counts for, from 0.
	Seat int
	// Final says that nobody else has to approve.
	Final bool
}

// Approve judges an approval of a call of the requesters; votes are the approvals that have
// already counted. Each person counts once, even if the person is in several seats.
func (a ApprovalRule) Approve(v Voter, votes []Vote, requesters ...string) Ruling {
	if ok, reason := a.MayDecide(v, requesters...); !ok {
		return Ruling{Reason: reason}
	}
	if slices.ContainsFunc(votes, func(vote Vote) bool { return vote.Approver == v.Identity }) {
		return Ruling{Reason: "this approver has approved already; another person has to"}
	}
	seats := a.seats()
	for i, s := range seats {
		missing := s.quorum()
		for _, vote := range votes {
			if vote.Seat == i {
				missing--
			}
		}
		switch {
		case missing <= 0:
			continue
		case !s.has(v):
			return Ruling{Reason: "it is not this approver's turn; the request waits for " + s.describe()}
		case missing == 1 && i == len(seats)-1:
			return Ruling{Counted: true, Seat: i, Final: true}
		case missing == 1:
			return Ruling{Counted: true, Seat: i, Reason: "the request now waits for " + seats[i+1].describe()}
		default:
			return Ruling{Counted: true, Seat: i, Reason: fmt.Sprintf("%d of %d approvals", s.quorum()-missing+1, s.quorum())}
		}
	}
	// The last vote was final, because the rule of a request does not change.
	return Ruling{Reason: "nobody else has to approve"}
}

// seats returns the chain, or one seat for a rule without a chain.
func (a ApprovalRule) seats() []Seat {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []Seat{{Approvers: a.Approvers, Quorum: a.Quorum}}
}

func (s Seat) quorum() int { return max(s.Quorum, 1) }

// has reports whether the voter is in the set. A role entry matches roles only, never an
// identity.
func (s Seat) has(v Voter) bool {
	return len(s.Approvers) == 0 || slices.ContainsFunc(s.Approvers, func(p Pattern) bool {
		if role, ok := strings.CutPrefix(string(p), rolePrefix); ok {
			return slices.Contains(v.Roles, role)
		}
		return p.Matches(v.Identity)
	})
}

func (s Seat) describe() string {
	who := "anyone"
	if len(s.Approvers) > 0 {
		names := make([]string, len(s.Approvers))
		for i, p := range s.Approvers {
			names[i] = p.quoted()
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
	byRole := func(p Pattern) bool { return strings.HasPrefix(string(p), rolePrefix) }
	return slices.ContainsFunc(a.seats(), func(s Seat) bool { return slices.ContainsFunc(s.Approvers, byRole) }) ||
		slices.ContainsFunc(a.Escalate, func(e Escalation) bool { return slices.ContainsFunc(e.Approvers, byRole) })
}
