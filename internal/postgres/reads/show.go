package reads

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

type (
	// Detail is everything that the record has about a call.
	Detail = client.CallRecord
	// StageRecord is a stage that ran.
	StageRecord = client.StageRecord
	// AttemptRecord is one dispatch.
	AttemptRecord = client.AttemptRecord
	// HydrationRecord is one hydration.
	HydrationRecord = client.HydrationRecord
	// ClaimRecord is a claim or a tombstone.
	ClaimRecord = client.ClaimRecord
	// OutputRecord is a stored output.
	OutputRecord = client.OutputRecord
	// CapacityRecord is limited capacity that an open call holds or waits for.
	CapacityRecord = client.CapacityRecord
	// EventRecord is an entry of the audit trail.
	EventRecord = client.EventRecord
)

// showRow is a row of the statement ShowCall.
type showRow struct {
	Call
	TenantID, SubjectID, SessionID, RequestID, GraphID, ConnectionID, TemporalRunID, InputDigest, PolicyDigest string

	Epoch, GateRound, DispatchRound, RequestRound, CapacityRound int

	Plan, Result, SafeArgs, InputHistory, OutputHistory json.RawMessage
}

// Show returns a call of the tenant by its invocation id, its workflow id or its toolCallId. If
// several calls match, it returns the newest. It returns ErrNotFound if no call matches.
func (s *Store) Show(ctx context.Context, tenantID, name string) (Detail, error) {
	const op = "show"
	var invocationID *string
	if toolspec.IsInvocationID(name) {
		invocationID = &name
	}
	row, found, err := db.First[showRow](ctx, s.db, op, db.Query("ShowCall", db.Values{
		"tenant_id": db.Text(tenantID), "name": db.Text(name), "invocation_id": invocationID,
	}))
	if err != nil {
		return Detail{}, err
	}
	if !found {
		return Detail{}, db.ErrNotFound
	}
	detail, err := row.detail()
	if err == nil {
		err = s.addLists(ctx, op, &detail)
	}
	return detail, db.Failure(op, err)
}

func (r showRow) detail() (Detail, error) {
	d := Detail{
		CallSummary: r.Call, TenantID: r.TenantID, SubjectID: r.SubjectID, SessionID: r.SessionID, RequestID: r.RequestID, GraphID: r.GraphID,
		ConnectionID: r.ConnectionID, TemporalRunID: r.TemporalRunID, Epoch: r.Epoch, InputDigest: r.InputDigest,
		Rounds: contract.Rounds{Gate: r.GateRound, Dispatch: r.DispatchRound, Request: r.RequestRound, Capacity: r.CapacityRound}, PolicyDigest: r.PolicyDigest,
		SafeArgs: r.SafeArgs,
	}
	var err error
	if d.Plan, err = db.Decoded[hook.Plan](r.Plan); err != nil {
		return d, err
	}
	if d.InputHistory, err = history(r.InputHistory); err != nil {
		return d, err
	}
	if d.OutputHistory, err = history(r.OutputHistory); err != nil {
		return d, err
	}
	if r.Result != nil {
		result, err := db.Decoded[toolspec.Result](r.Result)
		if err != nil {
			return d, err
		}
		d.Result = &result
	}
	return d, nil
}

// history decodes a list of values. It returns nil for a list of one value, because another field
// has that value.
func history(raw json.RawMessage) ([]json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	values, err := db.Decoded[[]json.RawMessage](raw)
	if len(values) < 2 {
		return nil, err
	}
	return values, err
}

// addLists reads the lists of the call in one round trip, and then the decisions of its
// approvals.
func (s *Store) addLists(ctx context.Context, op string, d *Detail) error {
	var approvals []approvalRow
	of := db.Values{"invocation_id": d.InvocationID}
	err := s.db.Read(ctx, op,
		db.Into(&d.Stages, db.Query("ShowStages", of)),
		db.Into(&d.AttemptList, db.Query("ShowAttempts", of)),
		db.Into(&d.Hydrations, db.Query("ShowHydrations", of)),
		db.Into(&d.Claims, db.Query("ShowClaims", of)),
		db.Into(&d.Outputs, db.Query("ShowOutputs", of.With(db.Values{"max": mostOutputs}))),
		db.Into(&d.Capacity, db.Query("ShowCapacity", of)),
		db.Into(&d.Events, db.Query("ShowEvents", of)),
		db.Into(&approvals, db.Query("ShowApprovals", of)),
	)
	if err != nil {
		return err
	}
	d.Approvals, err = s.withDecisions(ctx, op, approvals)
	return err
}
