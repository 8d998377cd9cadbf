package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

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
	row, found, err := first[showRow](ctx, s, op, step{"ShowCall", named{
		"tenant_id": text(tenantID), "name": text(name), "invocation_id": invocationID,
	}})
	if err != nil {
		return Detail{}, err
	}
	if !found {
		return Detail{}, ErrNotFound
	}
	detail, err := row.detail()
	if err == nil {
		err = s.addLists(ctx, op, &detail)
	}
	return detail, failure(op, err)
}

func (r showRow) detail() (Detail, error) {
	d := Detail{
		Call: r.Call, TenantID: r.TenantID, SubjectID: r.SubjectID, SessionID: r.SessionID, RequestID: r.RequestID, GraphID: r.GraphID,
		ConnectionID: r.ConnectionID, TemporalRunID: r.TemporalRunID, Epoch: r.Epoch, InputDigest: r.InputDigest,
		Rounds: contract.Rounds{Gate: r.GateRound, Dispatch: r.DispatchRound, Request: r.RequestRound, Capacity: r.CapacityRound}, PolicyDigest: r.PolicyDigest,
		SafeArgs: r.SafeArgs,
	}
	var err error
	if d.Plan, err = decoded[hook.Plan](r.Plan); err != nil {
		return d, err
	}
	if d.InputHistory, err = history(r.InputHistory); err != nil {
		return d, err
	}
	if d.OutputHistory, err = history(r.OutputHistory); err != nil {
		return d, err
	}
	if r.Result != nil {
		result, err := decoded[toolspec.Result](r.Result)
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
	values, err := decoded[[]json.RawMessage](raw)
	if len(values) < 2 {
		return nil, err
	}
	return values, err
}

// addLists reads what hangs on the call in one round trip.
func (s *Store) addLists(ctx context.Context, op string, d *Detail) error {
	var batch pgx.Batch
	var approvals []approvalRow
	of := named{"invocation_id": d.InvocationID}
	for _, list := range []struct {
		query string
		read  func(pgx.Rows) error
	}{
		{"ShowStages", into(&d.Stages)},
		{"ShowAttempts", into(&d.AttemptList)},
		{"ShowHydrations", into(&d.Hydrations)},
		{"ShowClaims", into(&d.Claims)},
		{"ShowCapacity", into(&d.Capacity)},
		{"ShowEvents", into(&d.Events)},
		{"ShowApprovals", into(&approvals)},
	} {
		sql, args, err := s.bound(step{list.query, of})
		if err != nil {
			return failure(op, err)
		}
		batch.Queue(sql, args...).Query(list.read)
	}
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return failure(op, err)
	}
	var err error
	d.Approvals, err = s.withDecisions(ctx, op, approvals)
	return err
}

func into[T any](list *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	}
}
