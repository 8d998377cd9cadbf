package reads

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Detail is everything that the record knows of a call.
type Detail struct {
	Call
	TenantID      string           `json:"tenantId"`
	SubjectID     string           `json:"subjectId,omitempty"`
	SessionID     string           `json:"sessionId,omitempty"`
	RequestID     string           `json:"requestId,omitempty"`
	GraphID       string           `json:"graphId,omitempty"`
	ConnectionID  string           `json:"connectionId,omitempty"`
	TemporalRunID string           `json:"temporalRunId"`
	Epoch         int              `json:"epoch"`
	InputDigest   string           `json:"inputDigest"`
	Plan          hook.Plan        `json:"plan"`
	Rounds        contract.Rounds  `json:"rounds,omitzero"`
	PolicyDigest  string           `json:"policyDigest,omitempty"`
	Result        *toolspec.Result `json:"result,omitempty"`
	SafeArgs      json.RawMessage  `json:"safeArgs,omitempty"`
	// InputHistory and OutputHistory are the redacted values that the arguments and
	// the output had, in order, where there was more than one.
	InputHistory  []json.RawMessage `json:"inputHistory,omitempty"`
	OutputHistory []json.RawMessage `json:"outputHistory,omitempty"`
	Stages        []StageRecord     `json:"stages,omitempty"`
	AttemptList   []AttemptRecord   `json:"attemptList,omitempty"`
	// Hydrations say where the arguments came from, each time that they were
	// looked at.
	Hydrations []HydrationRecord `json:"hydrations,omitempty"`
	Claims     []ClaimRecord     `json:"claims,omitempty"`
	Capacity   []CapacityRecord  `json:"capacity,omitempty"`
	Approvals  []Approval        `json:"approvals,omitempty"`
	Events     []EventRecord     `json:"events,omitempty"`
}

// StageRecord is a stage that ran.
type StageRecord struct {
	Stage      string          `json:"stage"`
	Round      int             `json:"round,omitempty"`
	Attempt    int             `json:"attempt,omitempty"`
	Outcome    string          `json:"outcome"`
	ByHook     string          `json:"by,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	At         time.Time       `json:"at"`
	DurationUs int64           `json:"durationUs"`
	Notes      json.RawMessage `json:"notes,omitempty"`
}

// AttemptRecord is one dispatch.
type AttemptRecord struct {
	Attempt    int           `json:"attempt"`
	Dispatch   int           `json:"dispatch,omitempty"`
	Lane       hook.Lane     `json:"lane"`
	Outcome    string        `json:"outcome"`
	Code       toolspec.Code `json:"code,omitempty"`
	At         time.Time     `json:"at"`
	DurationUs int64         `json:"durationUs"`
}

// HydrationRecord is one hydration.
type HydrationRecord struct {
	At         time.Time           `json:"at"`
	Provenance toolspec.Provenance `json:"provenance"`
}

// ClaimRecord is a claim or a tombstone.
type ClaimRecord struct {
	Dispatch   int       `json:"dispatch"`
	Kind       string    `json:"kind"`
	Epoch      int       `json:"epoch"`
	ApprovalID string    `json:"approvalId,omitempty"`
	At         time.Time `json:"at"`
}

// CapacityRecord is what an open call holds of limited capacity, or waits for.
type CapacityRecord struct {
	// Kind is quota, semaphore or another kind of lease.
	Kind string `json:"kind"`
	// Key names the limit and whom it counts.
	Key string `json:"key"`
	// State is held, waiting or lost.
	State string `json:"state"`
	// Ahead is how many calls stand before it in the queue.
	Ahead int `json:"ahead,omitempty"`
	// At is when a token is there, or when a place expires of which nothing is heard.
	At time.Time `json:"at"`
}

// EventRecord is a line of the audit trail.
type EventRecord struct {
	Kind    string          `json:"kind"`
	AuditID string          `json:"auditId,omitempty"`
	At      time.Time       `json:"at"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// showRow is the row of ShowCall.
type showRow struct {
	Call
	TenantID, SubjectID, SessionID, RequestID, GraphID, ConnectionID, TemporalRunID, InputDigest, PolicyDigest string

	Epoch, GateRound, DispatchRound, RequestRound, CapacityRound int

	Plan, Result, SafeArgs, InputHistory, OutputHistory json.RawMessage
}

// Show returns a call of the tenant by its invocation id, its workflow id or its toolCallId (of several by that name the newest), or
// ErrNotFound.
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
		Call: r.Call, TenantID: r.TenantID, SubjectID: r.SubjectID, SessionID: r.SessionID, RequestID: r.RequestID, GraphID: r.GraphID,
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

// history is a list of more than one value; one alone stands elsewhere.
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

// addLists reads what hangs on the call in one round trip.
func (s *Store) addLists(ctx context.Context, op string, d *Detail) error {
	var approvals []approvalRow
	of := db.Values{"invocation_id": d.InvocationID}
	err := s.db.Read(ctx, op,
		db.Into(&d.Stages, db.Query("ShowStages", of)),
		db.Into(&d.AttemptList, db.Query("ShowAttempts", of)),
		db.Into(&d.Hydrations, db.Query("ShowHydrations", of)),
		db.Into(&d.Claims, db.Query("ShowClaims", of)),
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
