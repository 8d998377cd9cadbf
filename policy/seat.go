package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
)

// Bounds of who has to approve.
const (
	MaxQuorum = 16
	MaxSeats  = 8
)

// rolePrefix marks an entry of a set of approvers that is a role.
const rolePrefix = authz.RolePrefix

// Seat is a set of people of whom some have to approve.
type Seat struct {
	// Name is what it is called towards people: "team lead". Empty takes its set.
	Name string `json:"name,omitempty"`
	// Approvers are as in ApprovalRule.
	Approvers []Pattern `json:"approvers,omitempty"`
	// Quorum is how many different people of the set have to approve, up to
	// MaxQuorum; 0 is one.
	Quorum int `json:"quorum,omitempty"`
}

// Voter is who decides.
type Voter struct {
	Identity string
	// Signed says that a proof of the identity was verified.
	Signed bool
	// Roles are what the identity has at the time of the decision.
	Roles []string
}

// Vote is an approval that counted before.
type Vote struct {
	Seat     int    `json:"seat"`
	Approver string `json:"approver"`
}

// Ruling is what comes of an approval.
type Ruling struct {
	Counted bool
	// Reason says why it does not count, or how many are still missing; safe to show.
	Reason string
	// Seat is the one that it counts for, from 0.
	Seat int
	// Final says that nobody else has to approve.
	Final bool
}

// Approve judges an approval of a call of the requesters, after the votes that have
// counted. Nobody counts twice, for no two seats either.
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
	// The rule of a request does not change, so its last vote was final.
	return Ruling{Reason: "nobody else has to approve"}
}

// seats are the chain, or the one seat of a rule without.
func (a ApprovalRule) seats() []Seat {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []Seat{{Approvers: a.Approvers, Quorum: a.Quorum}}
}

func (s Seat) quorum() int { return max(s.Quorum, 1) }

// has reports whether the voter is of the set. An identity is never taken for a role.
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

// NeedsRoles reports whether somebody may decide by a role, now or later.
func (a ApprovalRule) NeedsRoles() bool {
	byRole := func(p Pattern) bool { return strings.HasPrefix(string(p), rolePrefix) }
	return slices.ContainsFunc(a.seats(), func(s Seat) bool { return slices.ContainsFunc(s.Approvers, byRole) }) ||
		slices.ContainsFunc(a.Escalate, func(e Escalation) bool { return slices.ContainsFunc(e.Approvers, byRole) })
}
