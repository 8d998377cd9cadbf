package agents

import (
	"context"
	"errors"

	activity "github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/workflows/contract"
)

type startedRow struct{ Made, HasTokens, HasMoney bool }

// StartChild writes the run of an agent that a call of another run starts, unless it is written already. It reserves the
// limits of the new run (tokens and cost) out of what the calling run has left. Errors: activity.ErrNotFound if the calling
// run has ended or has a parent itself, and activity.ErrSpent if it has no tokens or no money left.
func (s *Store) StartChild(ctx context.Context, c activity.NewChild) (activity.Run, error) {
	const op = "start child"
	of := contract.AgentRun{TenantID: c.Parent.TenantID, RunID: c.RunID}
	run, err := s.AgentRun(ctx, of)
	if err == nil {
		return run, nil // an earlier attempt of the call has written the run
	}
	if !errors.Is(err, activity.ErrNotFound) {
		return run, err
	}
	document, err := encodeReadable(c.Document)
	if err != nil {
		return run, db.Failure(op, err)
	}
	input, err := encodeReadable(c.Input)
	if err != nil {
		return run, db.Failure(op, err)
	}
	row, found, err := db.Batched[startedRow](ctx, s.db, op, db.Query("LockParent", runKey(c.Parent)), db.Query("StartChild", runKey(c.Parent).With(db.Values{
		"child_run_id": db.Text(c.RunID), "call_id": db.Text(c.ToolCallID), "agent": db.Text(c.Document.Name), "version": db.Text(c.Document.Version),
		"document": document, "input": input, "token_limit": c.Document.Limits.Tokens, "micro_usd_limit": c.Document.Limits.MicroUSD,
	})))
	switch {
	case err != nil:
		return run, err
	case !found:
		return run, activity.ErrNotFound
	case !row.HasTokens || !row.HasMoney:
		// An earlier attempt of the call may have written the run after the first look, and reserved the rest for it.
		if run, err = s.AgentRun(ctx, of); errors.Is(err, activity.ErrNotFound) {
			return run, activity.ErrSpent
		}
		return run, err
	}
	return s.AgentRun(ctx, of)
}
