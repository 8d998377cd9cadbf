package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// outcomeRow is the result of a guarded write. Its values are values of contract.Outcome.
type outcomeRow struct {
	Outcome contract.Outcome
}

// Claim writes the claim of a dispatch and consumes its approval, or returns the reason for a
// refusal. Do not repeat Claim after an error: the first try may have written the claim, and the
// second would then return Redelivered or Claimed.
func (s *Store) Claim(ctx context.Context, in attempt.ClaimRow) (contract.Outcome, error) {
	values := db.Values{
		"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "tool_id": db.Text(in.ToolID), "epoch": in.Epoch,
		"temporal_run_id": executing(ctx), "dispatch": in.Dispatch, "claim_id": in.ClaimID, "repeatable": in.Repeatable,
		"approval_id": db.Text(in.ApprovalID), "approval_digest": db.Text(in.ApprovalDigest), "preview_digest": db.Text(in.PreviewDigest),
		"effect": string(in.Effect), "safe_args": db.Document(in.SafeArgs), "runs": in.Runtime + overMargin,
		"subject": in.Subject, "margin": endMargin,
	}
	addClaims(values, "answered", "answered_ids", in.Answered)
	row, _, err := batchLocked[outcomeRow](ctx, s, "claim", in.InvocationID, db.Query("RenewLeases", db.Values{
		"invocation_id": in.InvocationID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "hold": max(holdTime, in.Runtime+runsOn),
	}), db.Query("Claim", values))
	return row.Outcome, err
}

// Begin writes the start event of a call without a claim, unless the call has that event.
func (s *Store) Begin(ctx context.Context, in attempt.BeginRow) error {
	_, err := s.db.Exec(ctx, "begin", db.Query("Begin", db.Values{
		"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx),
		"safe_args": db.Document(in.SafeArgs),
	}))
	return err
}

// overMargin is added to the budget of a tool to get the time at which the claim of its attempt is over: from then on, the tool counts as
// ended. It covers the time that the tool takes to stop, and a slow machine.
const overMargin = 10 * time.Second

// endMargin is the time between the latest end of a tool and the time at which its claim is over. It is the last part of overMargin, and
// covers a slow machine and requests that the tool has already sent.
const endMargin = 8 * time.Second

// earlierRow is a row of the statement Earlier.
type earlierRow struct {
	Dispatch int
	ClaimID  string
	Answer   json.RawMessage
	Subject  string
	RunsMs   int64
}

// Earlier returns the claim whose answer is kept for in.Subject, among the claims of the call that are not in in.Answered. Without such an
// answer, it returns the last of these claims. found is false if there is none, or if another Temporal run owns the call.
func (s *Store) Earlier(ctx context.Context, in attempt.EarlierRow) (attempt.EarlierClaim, bool, error) {
	values := db.Values{
		"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "epoch": in.Epoch, "temporal_run_id": executing(ctx), "margin": endMargin,
		"subject": in.Subject,
	}
	addClaims(values, "answered", "answered_ids", in.Answered)
	row, found, err := db.First[earlierRow](ctx, s.db, "earlier", db.Query("Earlier", values))
	return attempt.EarlierClaim{
		Claim: contract.Claim{Dispatch: row.Dispatch, ID: row.ClaimID}, Answer: row.Answer, Subject: row.Subject,
		Runs: time.Duration(row.RunsMs) * time.Millisecond,
	}, found, err
}

// Keep stores the answer of a claim until the call is settled.
func (s *Store) Keep(ctx context.Context, in attempt.KeepRow) error {
	_, err := s.db.Exec(ctx, "keep", db.Query("Keep", db.Values{
		"invocation_id": in.InvocationID, "dispatch": in.Dispatch, "claim_id": db.Text(in.ID), "subject": in.Subject, "answer": db.Document(in.Answer),
	}))
	return err
}

// DeleteKeptAnswers deletes up to limit kept answers of settled calls, and returns their number.
func (s *Store) DeleteKeptAnswers(ctx context.Context, limit int) (int, error) {
	n, err := s.db.Exec(ctx, "delete kept answers", db.Query("DeleteKeptAnswers", db.Values{"batch": limit}))
	return int(n), err
}

// executing returns the run id of the workflow that executes. Statements compare it with the
// recorded run id.
func executing(ctx context.Context) string { return contract.Executing(ctx).RunID }

// addClaims adds the claims as two parameters: the dispatch numbers and the claim ids.
func addClaims(values db.Values, dispatches, ids string, claims []contract.Claim) {
	values[dispatches] = db.Column(claims, func(c contract.Claim) int { return c.Dispatch })
	values[ids] = db.Column(claims, func(c contract.Claim) string { return db.Text(c.ID) })
}

// claimsOf decodes the claims that a statement aggregated as JSON.
func claimsOf(op string, rows json.RawMessage) ([]contract.Claim, error) {
	if rows == nil {
		return nil, nil
	}
	claims, err := db.Decoded[[]contract.Claim](rows)
	if err != nil {
		return nil, db.Failure(op, err)
	}
	return claims, nil
}

// checkRow is a row of the statement Check.
type checkRow struct {
	Outcome  contract.Outcome
	Epoch    int
	Claims   json.RawMessage
	OverInMs int64
}

// Check reports whether a dispatch has a claim. If it has none, Check writes a tombstone, so that the
// dispatch cannot begin later, and raises the epoch.
func (s *Store) Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error) {
	const op = "check"
	values := db.Values{
		"invocation_id": in.InvocationID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "dispatch": in.Dispatch,
	}
	addClaims(values, "over", "over_ids", in.Over)
	row, _, err := batchLocked[checkRow](ctx, s, op, in.InvocationID, db.Query("Check", values))
	if err != nil {
		return contract.CheckOut{}, err
	}
	claims, err := claimsOf(op, row.Claims)
	return contract.CheckOut{Outcome: row.Outcome, Epoch: row.Epoch, Claims: claims, OverInMs: max(row.OverInMs, 0)}, err
}

// ownedRow is a row of the statement Owned.
type ownedRow struct{ Plan json.RawMessage }

// Owned compares the record with the executing run and with the input of an activity. If they
// match, it returns the recorded plan.
func (s *Store) Owned(ctx context.Context, in stage.OwnedRow) (plan hook.Plan, owned bool, err error) {
	const op = "owned"
	c := in.Context
	row, found, err := db.First[ownedRow](ctx, s.db, op, db.Query("Owned", db.Values{
		"invocation_id": in.InvocationID, "tenant_id": db.Text(c.TenantID), "run_id": db.Text(c.RunID), "tool_call_id": db.Text(in.ToolCallID),
		"tool_id": db.Text(in.ToolID), "actor_id": db.Text(c.ActorID), "subject_id": db.Text(c.SubjectID), "session_id": db.Text(c.SessionID),
		"connection_id": db.Text(c.ConnectionID), "epoch": in.Epoch, "temporal_run_id": executing(ctx),
	}))
	if err != nil || !found {
		return hook.Plan{}, false, err
	}
	if plan, err = db.Decoded[hook.Plan](row.Plan); err != nil {
		return hook.Plan{}, false, db.Failure(op, err)
	}
	return plan, true, nil
}

// Forged writes an audit event: an activity of a call was completed by a sender other than a
// worker.
func (s *Store) Forged(ctx context.Context, in answer.Forged) error {
	_, err := s.db.Exec(ctx, "forged", db.Query("Forged", db.Values{
		"invocation_id": in.InvocationID, "tenant_id": db.Text(in.TenantID), "activity": db.Text(in.Activity), "answer": db.Text(in.Answer),
	}))
	return err
}

// batchLocked runs the steps as db.Batched does, after a statement that locks the invocation.
func batchLocked[T any](ctx context.Context, s *Store, op, invocationID string, steps ...db.Step) (row T, found bool, err error) {
	lock := db.Query("LockInvocation", db.Values{"invocation_id": invocationID})
	return db.Batched[T](ctx, s.db, op, append([]db.Step{lock}, steps...)...)
}
