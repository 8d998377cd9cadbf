package review

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/policy"
)

// Backtest compares the verdicts of two policies on recorded calls. The zero Backtest is empty.
type Backtest struct {
	// Calls is the number of compared calls, Unchanged the number of calls with the same verdict.
	Calls, Unchanged int
	moves            map[Move]*Moved
}

// Move is a change of verdict for the calls of one tool. Rule is the rule that decides in the policy after the
// change.
type Move struct {
	TenantID, ToolID string
	Before, After    policy.Verb
	// Undetermined says that the verdict after the change needs facts of the call that are not
	// known.
	Undetermined bool
	Rule         string
}

// Moved is a move with the number of its calls.
type Moved struct {
	Move
	Calls int
	// Example is the id of the first call with this move.
	Example string
}

// Add judges one more call by both policies; id names the call.
func (b *Backtest) Add(id string, f policy.Facts, before, after *policy.Policy) {
	b.Calls++
	was, is := before.Decide(f), after.Decide(f)
	if was.Verb == is.Verb && was.Undetermined == is.Undetermined {
		b.Unchanged++
		return
	}
	move := Move{TenantID: f.TenantID, ToolID: f.ToolID, Before: was.Verb, After: is.Verb, Undetermined: is.Undetermined, Rule: is.Rule}
	if b.moves == nil {
		b.moves = map[Move]*Moved{}
	}
	if b.moves[move] == nil {
		b.moves[move] = &Moved{Move: move, Example: id}
	}
	b.moves[move].Calls++
}

// Moves lists the changes: first calls that are now denied, then calls that now need an approval,
// then calls that are now allowed. Within each group, moves with more calls come first.
func (b *Backtest) Moves() []Moved {
	order := []policy.Verb{policy.Deny, policy.RequireApproval, policy.Allow}
	moves := make([]Moved, 0, len(b.moves))
	for _, m := range slices.Collect(maps.Values(b.moves)) {
		moves = append(moves, *m)
	}
	slices.SortFunc(moves, func(a, b Moved) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.After), slices.Index(order, b.After)), cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.ToolID, b.ToolID), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Before, b.Before),
		)
	})
	return moves
}

// Tenants lists the tenants that any of the policies names, sorted.
func Tenants(policies ...*policy.Policy) []string {
	all := map[string]bool{}
	for _, p := range policies {
		for _, id := range p.Tenants() {
			all[id] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
