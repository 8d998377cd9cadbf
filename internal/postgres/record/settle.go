package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// settleRow is a row of the statement Settle.
type settleRow struct {
	Outcome     contract.Outcome
	Result      json.RawMessage
	Unaccounted json.RawMessage
}

// Settle closes the record and writes everything that the call produced. It writes nothing if the
// call is settled already, if another epoch or Temporal run owns it, or if the record has claims that
// the result does not account for (Unaccounted). The Outcome says which.
func (s *Store) Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error) {
	const op = "settle"
	result, err := db.Encoded(in.Result)
	if err != nil {
		return contract.SettleOut{}, db.Failure(op, err)
	}
	values := db.Values{
		"invocation_id": in.InvocationID, "tenant_id": in.TenantID, "epoch": in.Epoch, "temporal_run_id": executing(ctx), "result": result, "ok": in.Result.OK,
		"error_code": db.Text(in.Result.ErrorCode), "safe_args": db.Document(in.SafeArgs), "attempts": in.Result.Attempts,
		"policy_digest": db.Text(in.PolicyDigest), "unknown_code": db.Text(toolspec.CodeOutcomeUnknown),
	}
	addClaims(values, "claims", "claim_ids", in.Claims)
	if err := addHistories(values, in); err != nil {
		return contract.SettleOut{}, db.Failure(op, err)
	}
	if err := addStages(values, in.Stages); err != nil {
		return contract.SettleOut{}, db.Failure(op, err)
	}
	if err := addHydrations(values, in.Hydrations); err != nil {
		return contract.SettleOut{}, db.Failure(op, err)
	}
	addAttempts(values, in.Attempts)
	addAudit(values, in)
	addEvents(values, in)
	addKept(values, in.Kept)
	var steps []db.Step
	if in.Holds {
		steps = release(in.InvocationID, in.Epoch, executing(ctx), in.Result.Attempts, allRounds, 0)
	}
	steps = append(steps, db.Query("Settle", values))
	row, _, err := batchLocked[settleRow](ctx, s, op, in.InvocationID, steps...)
	if err != nil {
		return contract.SettleOut{}, err
	}
	out := contract.SettleOut{Outcome: row.Outcome}
	if out.Unaccounted, err = claimsOf(op, row.Unaccounted); err != nil {
		return contract.SettleOut{}, err
	}
	if row.Outcome == contract.AlreadySettled {
		recorded, err := db.Decoded[toolspec.Result](row.Result)
		if err != nil {
			return contract.SettleOut{}, db.Failure(op, err)
		}
		out.Result = &recorded
	}
	return out, nil
}

func addHistories(values db.Values, in contract.SettleIn) error {
	for name, history := range map[string][]json.RawMessage{"input_history": in.InputHistory, "output_history": in.OutputHistory} {
		values[name] = (*string)(nil)
		if len(history) == 0 {
			continue
		}
		var err error
		if values[name], err = db.Encoded(history); err != nil {
			return err
		}
	}
	return nil
}

func addStages(values db.Values, stages []contract.StageEvent) error {
	notes := make([]*string, len(stages))
	for i, e := range stages {
		if len(e.Notes) == 0 {
			continue
		}
		var err error
		if notes[i], err = db.Encoded(e.Notes); err != nil {
			return err
		}
	}
	type event = contract.StageEvent
	values["stages"] = db.Column(stages, func(e event) string { return db.Text(e.Stage) })
	values["stage_rounds"] = db.Column(stages, func(e event) int { return e.Round })
	values["stage_attempts"] = db.Column(stages, func(e event) int { return e.Attempt })
	values["stage_outcomes"] = db.Column(stages, func(e event) string { return db.Text(e.Outcome) })
	values["stage_bys"] = db.Column(stages, func(e event) string { return db.Text(e.By) })
	values["stage_rules"] = db.Column(stages, func(e event) string { return db.Text(e.Rule) })
	values["stage_ats"] = db.Column(stages, func(e event) time.Time { return time.UnixMilli(e.AtMs) })
	values["stage_durations"] = db.Column(stages, func(e event) int64 { return e.DurationUs })
	values["stage_notes"] = notes
	return nil
}

func addAttempts(values db.Values, attempts []contract.AttemptEvent) {
	type event = contract.AttemptEvent
	values["attempt_numbers"] = db.Column(attempts, func(e event) int { return e.Attempt })
	values["attempt_dispatches"] = db.Column(attempts, func(e event) int { return e.Dispatch })
	values["attempt_lanes"] = db.Column(attempts, func(e event) string { return db.Text(e.Lane) })
	values["attempt_outcomes"] = db.Column(attempts, func(e event) string { return db.Text(e.Outcome) })
	values["attempt_codes"] = db.Column(attempts, func(e event) string { return db.Text(e.Code) })
	values["attempt_ats"] = db.Column(attempts, func(e event) time.Time { return time.UnixMilli(e.AtMs) })
	values["attempt_durations"] = db.Column(attempts, func(e event) int64 { return e.DurationUs })
}

func addAudit(values db.Values, in contract.SettleIn) {
	ids, kinds, details := make([]string, len(in.Audit)), make([]string, len(in.Audit)), make([]*string, len(in.Audit))
	for i, a := range in.Audit {
		ids[i], kinds[i], details[i] = toolspec.AuditID(in.InvocationID, i+1), db.Text(a.Kind), db.Document(a.Detail)
	}
	values["audit_ids"], values["audit_kinds"], values["audit_details"] = ids, kinds, details
}

// addEvents adds the details of the two events that every call has (toolspec.EventStart).
func addEvents(values db.Values, in contract.SettleIn) {
	at, valid := in.Started()
	values["args_valid"], values["began_at"] = valid, (*time.Time)(nil)
	if !at.IsZero() {
		values["began_at"] = &at
	}
}
