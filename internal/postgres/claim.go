package postgres

import (
	"context"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/workflows"
)

// outcomeRow is what a guarded write answers; the words are those of workflows.Outcome.
type outcomeRow struct {
	Outcome workflows.Outcome
}

// Claim writes that a dispatch begins, and consumes its approval, or says why it must not. It is not to be repeated after an error:
// the first try may have claimed, and the second would be told so.
func (s *Store) Claim(ctx context.Context, in activities.ClaimRow) (workflows.Outcome, error) {
	answered := in.Answered
	if answered == nil {
		answered = []int{}
	}
	row, _, err := locked[outcomeRow](ctx, s, "claim", in.InvocationID, step{"RenewLeases", named{
		"invocation_id": in.InvocationID, "epoch": in.Epoch, "hold": max(holdTime, in.Runtime+runsOn),
	}}, step{"Claim", named{
		"invocation_id": in.InvocationID, "epoch": in.Epoch, "dispatch": in.Dispatch,
		"repeatable": in.Repeatable, "answered": answered, "approval_id": in.ApprovalID, "effect": string(in.Effect),
	}})
	return row.Outcome, err
}

// checkRow is the row of Check.
type checkRow struct {
	Outcome workflows.Outcome
	Epoch   int
}

// Check tells a dispatch that began from one that did not, and sees to it that the latter never will.
func (s *Store) Check(ctx context.Context, in workflows.CheckIn) (workflows.CheckOut, error) {
	row, _, err := locked[checkRow](ctx, s, "check", in.InvocationID, step{"Check", named{
		"invocation_id": in.InvocationID, "epoch": in.Epoch, "dispatch": in.Dispatch,
	}})
	return workflows.CheckOut{Outcome: row.Outcome, Epoch: row.Epoch}, err
}
