package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/document"
)

// Seat is a set of people, some of whom have to approve.
type Seat struct {
	// Name is the name of the seat for people: "team lead". If it is empty, the approvers are
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

// NoSeat is the seat of an approval that does not count for a rule.
const NoSeat = -1

// Vote is an approval that has already counted.
type Vote struct {
	// Seat is the index of the seat of policy that the approval counts for, or NoSeat.
	Seat     int    `json:"seat"`
	Approver string `json:"approver"`
	// HookSeats has such an index for each entry of ApprovalRule.Hooks.
	HookSeats []int `json:"hookSeats,omitempty"`
}

// Ruling is the judgement of an approval.
type Ruling struct {
	Counted bool
	// Reason says why the approval does not count, or what is still missing. It is safe to show.
	Reason string
	// Seat and HookSeats are as in Vote. HookSeats is nil if no hook names approvers.
	Seat      int
	HookSeats []int
	// Final says that nobody else has to approve.
	Final bool
}

// Approve judges an approval of a call of the requesters; votes are the approvals that have
// already counted. The approval counts for policy, and for each hook that names the person. In
// each of them a person counts once, even if the person is in several seats.
//
// An approval does not count yet if the person has a later turn in a chain: a person approves a
// request once, and nobody else might take that turn.
func (a ApprovalRule) Approve(v Voter, votes []Vote, requesters ...string) Ruling {
	if ok, reason := a.MayDecide(v, requesters...); !ok {
		return Ruling{Reason: reason}
	}
	if slices.ContainsFunc(votes, func(vote Vote) bool { return vote.Approver == v.Identity }) {
		return Ruling{Reason: "this approver has approved already; another person has to"}
	}
	turns := []turn{turnOf(a.seats(), v, votes, policySeat)}
	for i, h := range a.Hooks {
		turns = append(turns, turnOf(h.Seats, v, votes, hookSeat(i)))
	}
	return rulingOf(turns)
}

// turn is what an approval means for the seats of policy or of a hook.
type turn struct {
	// seat is the seat that the approval takes, or NoSeat.
	seat int
	// early says that the approver has a later turn.
	early bool
	// waits describes the people that the seats wait for, after the approval if it takes a
	// seat. It is empty if nobody else has to approve.
	waits string
	// progress is set if the approval takes a seat that waits for more approvals.
	progress string
}

// next returns the first seat that waits for approvals, and for how many. It returns NoSeat if
// none does. seatOf returns the seat of a vote.
func next(seats []Seat, votes []Vote, seatOf func(Vote) int) (i, missing int) {
	for i, s := range seats {
		missing := s.quorum()
		for _, vote := range votes {
			if seatOf(vote) == i {
				missing--
			}
		}
		if missing > 0 {
			return i, missing
		}
	}
	return NoSeat, 0
}

// turnOf returns what an approval of v means for seats.
func turnOf(seats []Seat, v Voter, votes []Vote, seatOf func(Vote) int) turn {
	i, missing := next(seats, votes, seatOf)
	if i == NoSeat {
		return turn{seat: NoSeat}
	}
	s := seats[i]
	switch {
	case !s.has(v):
		early := slices.ContainsFunc(seats[i+1:], func(s Seat) bool { return s.has(v) })
		return turn{seat: NoSeat, early: early, waits: s.describe()}
	case missing > 1:
		return turn{seat: i, waits: s.describe(), progress: fmt.Sprintf("%d of %d approvals", s.quorum()-missing+1, s.quorum())}
	case i == len(seats)-1:
		return turn{seat: i}
	}
	return turn{seat: i, waits: seats[i+1].describe()}
}

// rulingOf returns the ruling of an approval from its turns: that of policy, and one for each
// hook.
func rulingOf(turns []turn) Ruling {
	var refused, waits *turn
	taken := false
	for i := range turns {
		t := &turns[i]
		taken = taken || t.seat != NoSeat
		if t.early && refused == nil {
			refused = t
		}
		if t.waits != "" && waits == nil {
			waits = t
		}
	}
	switch {
	case waits == nil && !taken:
		// The last vote was final, because the rule of a request does not change.
		return Ruling{Reason: "nobody else has to approve"}
	case refused != nil || !taken:
		return Ruling{Reason: "it is not this approver's turn; the request waits for " + cmp.Or(refused, waits).waits}
	}
	r := Ruling{Counted: true, Seat: turns[0].seat, Final: waits == nil}
	for _, t := range turns[1:] {
		r.HookSeats = append(r.HookSeats, t.seat)
	}
	switch {
	case r.Final:
	case waits.progress != "":
		r.Reason = waits.progress
	default:
		r.Reason = "the request now waits for " + waits.waits
	}
	return r
}

// policySeat returns the seat of policy that a vote has taken.
func policySeat(v Vote) int { return v.Seat }

// hookSeat returns a function that returns the seat that a vote has taken of the entry i of
// ApprovalRule.Hooks.
func hookSeat(i int) func(Vote) int {
	return func(v Vote) int {
		if i >= len(v.HookSeats) {
			return NoSeat
		}
		return v.HookSeats[i]
	}
}

// Missing describes the approvals that a request still waits for after the votes: those of
// policy, and those of each hook. It returns nil if nobody else has to approve.
func (a ApprovalRule) Missing(votes []Vote) (missing []string) {
	add := func(seats []Seat, seatOf func(Vote) int) {
		i, n := next(seats, votes, seatOf)
		if i == NoSeat {
			return
		}
		for j, s := range seats[i:] {
			if s.Quorum = s.quorum(); j == 0 {
				s.Quorum = n
			}
			missing = append(missing, s.describe())
		}
	}
	add(a.seats(), policySeat)
	for i, h := range a.Hooks {
		add(h.Seats, hookSeat(i))
	}
	return missing
}

// seats returns the chain, or one seat for a rule without a chain.
func (a ApprovalRule) seats() []Seat {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []Seat{{Approvers: a.Approvers, Quorum: a.Quorum}}
}

// allSeats returns the seats of policy and then those of the hooks.
func (a ApprovalRule) allSeats() []Seat {
	all := a.seats()
	for _, h := range a.Hooks {
		all = slices.Concat(all, h.Seats)
	}
	return all
}

func (s Seat) quorum() int { return max(s.Quorum, 1) }

// has reports whether the voter is in the set. A role entry matches roles only, never an
// identity.
func (s Seat) has(v Voter) bool {
	return len(s.Approvers) == 0 || slices.ContainsFunc(s.Approvers, func(p document.Pattern) bool {
		if role, ok := strings.CutPrefix(string(p), authz.RolePrefix); ok {
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
	return slices.ContainsFunc(a.allSeats(), func(s Seat) bool { return slices.ContainsFunc(s.Approvers, byRole) }) ||
		slices.ContainsFunc(a.Escalate, func(e Escalation) bool { return slices.ContainsFunc(e.Approvers, byRole) })
}
