package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// endingRow is what the statement TakeEnding returns: a swept call whose closing stages are due.
type endingRow struct {
	InvocationID string
	Done, Tries  int

	TenantID, RunID, ToolCallID, ToolID, ActorID           string
	SubjectID, SessionID, RequestID, GraphID, ConnectionID string

	Plan, Result              json.RawMessage
	Epoch                     int
	InputDigest, PolicyDigest string
	SettledAt, SeenAt         time.Time
	AuditIds                  []string
}

// TakeEnding takes a swept call of a namespace whose closing stages are due. found is false if
// there is none. If the plan or the result of the call cannot be read, TakeEnding returns an error
// and found, and e has its id and its times.
func (s *Store) TakeEnding(ctx context.Context, namespace string) (e upkeep.Ending, found bool, err error) {
	const op = "take ending"
	row, found, err := db.First[endingRow](ctx, s.db, op, db.Query("TakeEnding", db.Values{"namespace": db.Text(namespace)}))
	if err != nil || !found {
		return e, false, err
	}
	e = upkeep.Ending{InvocationID: row.InvocationID, Done: row.Done, Tries: row.Tries, SettledAt: row.SettledAt, SeenAt: row.SeenAt}
	plan, err := db.Decoded[hook.Plan](row.Plan)
	if err != nil {
		return e, true, db.Failure(op, err)
	}
	result, err := db.Decoded[toolspec.Result](row.Result)
	if err != nil {
		return e, true, db.Failure(op, err)
	}
	e.Plan, e.Facts = plan, hook.Facts{
		InvocationID: row.InvocationID, ToolID: row.ToolID, ToolCallID: row.ToolCallID, Context: toolspec.Context{
			TenantID: row.TenantID, RunID: row.RunID, ActorID: row.ActorID, SubjectID: row.SubjectID, SessionID: row.SessionID,
			RequestID: row.RequestID, GraphID: row.GraphID, ConnectionID: row.ConnectionID,
		},
		Effect: plan.Effect, Risk: plan.Risk, ToolDigest: plan.ToolDigest, PolicyDigest: row.PolicyDigest, InputDigest: row.InputDigest,
		Epoch: row.Epoch, Round: 1, Attempts: result.Attempts, AuditIDs: row.AuditIds,
		Failure: &hook.Failure{
			Code: result.ErrorCode, SafeMessage: result.SafeMessage, Details: result.Details, HTTPStatus: result.HTTPStatus,
		},
		StartedAtMs: result.StartedAtMs, NowMs: row.SeenAt.UnixMilli(),
	}
	return e, true, nil
}

// endedRow is a row of the statement EndStage.
type endedRow struct{ Ended bool }

// EndStage records a closing stage of a swept call that has run. If another sweep has taken the call after the sweep
// in.Tries, or the stage in.Done is recorded already, it writes nothing and returns false.
func (s *Store) EndStage(ctx context.Context, in upkeep.EndedStage) (ended bool, err error) {
	const op = "end stage"
	values := db.Values{
		"invocation_id": in.InvocationID, "tries": in.Tries, "done": in.Done, "stage": db.Text(in.Stage), "outcome": db.Text(in.Outcome),
		"at": in.At, "duration_us": in.DurationUs, "notes": (*string)(nil),
	}
	if len(in.Notes) > 0 {
		if values["notes"], err = db.Encoded(in.Notes); err != nil {
			return false, db.Failure(op, err)
		}
	}
	type entry = hook.AuditEntry
	values["audit_ids"] = in.AuditIDs
	values["audit_kinds"] = db.Column(in.Audit, func(e entry) string { return db.Text(e.Kind) })
	values["audit_details"] = db.Column(in.Audit, func(e entry) *string { return db.Document(e.Detail) })
	row, _, err := db.First[endedRow](ctx, s.db, op, db.Query("EndStage", values))
	return row.Ended, err
}

// DropEnding deletes the row with the remaining stages of a swept call, unless another sweep has
// taken the call since.
func (s *Store) DropEnding(ctx context.Context, invocationID string, tries int) error {
	_, err := s.db.Exec(ctx, "drop ending", db.Query("DropEnding", db.Values{"invocation_id": invocationID, "tries": tries}))
	return err
}
