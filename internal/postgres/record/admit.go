package record

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// admitTries bounds how often Admit runs its statement after it lost a race. The record that won
// the race is final, so the second try normally finds it.
const admitTries = 5

// recordRow is a row of the statement Admit.
type recordRow struct {
	InputDigest   string
	Result        json.RawMessage
	Epoch         int
	GateRound     int
	DispatchRound int
	RequestRound  int
	CapacityRound int
	Plan          json.RawMessage
	Namespace     string
	Watched       bool
	PolicyDigest  string
	Kills         json.RawMessage
	Connection    json.RawMessage
}

// Admit inserts the call. If the call has a record, Admit reads the record, and raises its epoch if
// the call is open. Admit does not store the arguments, the provider's payload or the proof.
func (s *Store) Admit(ctx context.Context, in admit.Row) (admit.Record, error) {
	const op = "admit"
	plan, err := db.Encoded(in.Plan)
	if err != nil {
		return admit.Record{}, db.Failure(op, err)
	}
	c := in.Invocation.Context
	st := db.Query("Admit", db.Values{
		"invocation_id": in.InvocationID, "input_digest": in.InputDigest, "tenant_id": c.TenantID, "run_id": c.RunID,
		"tool_call_id": in.Invocation.ToolCallID, "tool_id": in.Invocation.ToolID, "actor_id": c.ActorID, "subject_id": c.SubjectID,
		"session_id": c.SessionID, "request_id": c.RequestID, "graph_id": c.GraphID, "connection_id": c.ConnectionID,
		"workflow_id": in.WorkflowID, "temporal_run_id": in.RunID, "namespace": in.Namespace, "plan": plan, "started_at": in.StartedAt,
		"holder": broker.Holder(c), "depth": authz.MaxNesting,
	})
	for range admitTries {
		row, found, err := db.First[recordRow](ctx, s.db, op, st)
		if err != nil {
			return admit.Record{}, err
		}
		if !found {
			continue
		}
		record, err := row.record(op)
		record.Elsewhere = record.Result == nil && row.Namespace != in.Namespace
		return record, err
	}
	return admit.Record{}, errs.Transient(&db.Error{Op: op, State: "race"})
}

func (r recordRow) record(op string) (admit.Record, error) {
	plan, err := db.Decoded[hook.Plan](r.Plan)
	if err != nil {
		return admit.Record{}, db.Failure(op, err)
	}
	kills, err := killsOf(op, r.Kills)
	if err != nil {
		return admit.Record{}, err
	}
	connection, err := connectionOf(op, r.Connection)
	if err != nil {
		return admit.Record{}, err
	}
	record := admit.Record{
		Digest: r.InputDigest, Watched: r.Watched, Epoch: r.Epoch, Plan: plan, PolicyDigest: r.PolicyDigest, Kills: kills, Connection: connection,
		Rounds: contract.Rounds{Gate: r.GateRound, Dispatch: r.DispatchRound, Request: r.RequestRound, Capacity: r.CapacityRound},
	}
	if r.Result != nil {
		result, err := db.Decoded[toolspec.Result](r.Result)
		if err != nil {
			return admit.Record{}, db.Failure(op, err)
		}
		record.Result = &result
	}
	return record, nil
}

// Refuse writes an event for input that gets no record, under its workflow id. A retry may write
// a second event.
func (s *Store) Refuse(ctx context.Context, in admit.Refused) error {
	const op = "refuse"
	detail, err := db.Encoded(struct {
		RunID  string        `json:"runId"`
		Code   toolspec.Code `json:"code"`
		Reason string        `json:"reason"`
		Bytes  int           `json:"bytes"`
	}{in.RunID, in.Code, in.Reason, in.Bytes})
	if err != nil {
		return db.Failure(op, err)
	}
	_, err = s.db.Exec(ctx, op, db.Query("Refuse", db.Values{"workflow_id": db.Text(in.WorkflowID), "detail": detail}))
	return err
}
