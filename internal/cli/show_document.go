package cli

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// callDocument is a call as `pawl list --json` prints it. Names and order are a contract
// with scripts, as those of the other documents are.
type callDocument struct {
	InvocationID string          `json:"invocationId"`
	RunID        string          `json:"runId"`
	ToolCallID   string          `json:"toolCallId"`
	ToolID       string          `json:"toolId"`
	ActorID      string          `json:"actorId"`
	WorkflowID   string          `json:"workflowId"`
	Status       toolspec.Status `json:"status"`
	Outcome      string          `json:"outcome,omitempty"`
	Attempts     int             `json:"attempts"`
	StartedAt    time.Time       `json:"startedAt"`
	SettledAt    *time.Time      `json:"settledAt,omitempty"`
	CreatedAt    time.Time       `json:"createdAt"`
}

// showDocument is a call as `pawl show --json` prints it.
type showDocument struct {
	callDocument

	TenantID      string              `json:"tenantId"`
	SubjectID     string              `json:"subjectId,omitempty"`
	SessionID     string              `json:"sessionId,omitempty"`
	RequestID     string              `json:"requestId,omitempty"`
	GraphID       string              `json:"graphId,omitempty"`
	ConnectionID  string              `json:"connectionId,omitempty"`
	TemporalRunID string              `json:"temporalRunId"`
	Epoch         int                 `json:"epoch"`
	InputDigest   string              `json:"inputDigest"`
	Plan          hook.Plan           `json:"plan"`
	Rounds        contract.Rounds     `json:"rounds,omitzero"`
	PolicyDigest  string              `json:"policyDigest,omitempty"`
	Result        *toolspec.Result    `json:"result,omitempty"`
	SafeArgs      json.RawMessage     `json:"safeArgs,omitempty"`
	InputHistory  []json.RawMessage   `json:"inputHistory,omitempty"`
	OutputHistory []json.RawMessage   `json:"outputHistory,omitempty"`
	Stages        []stageDocument     `json:"stages,omitempty"`
	AttemptList   []attemptDocument   `json:"attemptList,omitempty"`
	Hydrations    []hydrationDocument `json:"hydrations,omitempty"`
	Claims        []claimDocument     `json:"claims,omitempty"`
	Capacity      []capacityDocument  `json:"capacity,omitempty"`
	Approvals     []approvalDocument  `json:"approvals,omitempty"`
	Events        []eventDocument     `json:"events,omitempty"`
}

// stageDocument is a stage that ran.
type stageDocument struct {
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

// attemptDocument is one dispatch.
type attemptDocument struct {
	Attempt    int           `json:"attempt"`
	Dispatch   int           `json:"dispatch,omitempty"`
	Lane       hook.Lane     `json:"lane"`
	Outcome    string        `json:"outcome"`
	Code       toolspec.Code `json:"code,omitempty"`
	At         time.Time     `json:"at"`
	DurationUs int64         `json:"durationUs"`
}

// hydrationDocument is one hydration.
type hydrationDocument struct {
	At         time.Time           `json:"at"`
	Provenance toolspec.Provenance `json:"provenance"`
}

// claimDocument is a claim or a tombstone.
type claimDocument struct {
	Dispatch   int       `json:"dispatch"`
	Kind       string    `json:"kind"`
	Epoch      int       `json:"epoch"`
	ApprovalID string    `json:"approvalId,omitempty"`
	At         time.Time `json:"at"`
}

// capacityDocument is what an open call holds of limited capacity, or waits for.
type capacityDocument struct {
	Kind  string    `json:"kind"`
	Key   string    `json:"key"`
	State string    `json:"state"`
	Ahead int       `json:"ahead,omitempty"`
	At    time.Time `json:"at"`
}

// eventDocument is a line of the audit trail.
type eventDocument struct {
	Kind    string          `json:"kind"`
	AuditID string          `json:"auditId,omitempty"`
	At      time.Time       `json:"at"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// approvalDocument is an approval request as `pawl approvals --json` prints it.
type approvalDocument struct {
	toolspec.ApprovalView

	InvocationID     string                `json:"invocationId"`
	WorkflowID       string                `json:"workflowId"`
	Number           int                   `json:"number"`
	EditedBy         string                `json:"editedBy,omitempty"`
	PolicyRule       string                `json:"policyRule,omitempty"`
	PolicyDigest     string                `json:"policyDigest,omitempty"`
	State            contract.RequestState `json:"state"`
	Approver         string                `json:"approver,omitempty"`
	DecidedAt        *time.Time            `json:"decidedAt,omitempty"`
	ConsumedDispatch *int                  `json:"consumedDispatch,omitempty"`
	ExpiresAt        time.Time             `json:"expiresAt"`
	CreatedAt        time.Time             `json:"createdAt"`
	Decisions        []decisionDocument    `json:"decisions,omitempty"`
	Escalated        int                   `json:"escalated,omitempty"`
}

// decisionDocument is a decision that was verified, counted or not.
type decisionDocument struct {
	ApprovalID string        `json:"-"`
	Decision   toolspec.Verb `json:"decision"`
	Approver   string        `json:"approver"`
	Reason     string        `json:"reason,omitempty"`
	Remember   bool          `json:"remember,omitempty"`
	Signed     bool          `json:"signed,omitempty"`
	KeyID      string        `json:"keyId,omitempty"`
	Counted    bool          `json:"counted"`
	Final      bool          `json:"final,omitempty"`
	Seat       int           `json:"seat,omitempty"`
	WhyNot     string        `json:"whyNot,omitempty"`
	At         time.Time     `json:"at"`
}

// showDocumentOf returns the document of a call.
func showDocumentOf(d reads.Detail) showDocument {
	return showDocument{
		callDocument: callDocument(d.Call), TenantID: d.TenantID, SubjectID: d.SubjectID, SessionID: d.SessionID, RequestID: d.RequestID,
		GraphID: d.GraphID, ConnectionID: d.ConnectionID, TemporalRunID: d.TemporalRunID, Epoch: d.Epoch, InputDigest: d.InputDigest,
		Plan: d.Plan, Rounds: d.Rounds, PolicyDigest: d.PolicyDigest, Result: d.Result, SafeArgs: d.SafeArgs,
		InputHistory: d.InputHistory, OutputHistory: d.OutputHistory,
		Stages:      documents(d.Stages, func(r reads.StageRecord) stageDocument { return stageDocument(r) }),
		AttemptList: documents(d.AttemptList, func(r reads.AttemptRecord) attemptDocument { return attemptDocument(r) }),
		Hydrations:  documents(d.Hydrations, func(r reads.HydrationRecord) hydrationDocument { return hydrationDocument(r) }),
		Claims:      documents(d.Claims, func(r reads.ClaimRecord) claimDocument { return claimDocument(r) }),
		Capacity:    documents(d.Capacity, func(r reads.CapacityRecord) capacityDocument { return capacityDocument(r) }),
		Approvals:   documents(d.Approvals, approvalDocumentOf),
		Events:      documents(d.Events, func(r reads.EventRecord) eventDocument { return eventDocument(r) }),
	}
}

// approvalDocumentOf returns the document of an approval request.
func approvalDocumentOf(a reads.Approval) approvalDocument {
	return approvalDocument{
		ApprovalView: a.ApprovalView, InvocationID: a.InvocationID, WorkflowID: a.WorkflowID, Number: a.Number, EditedBy: a.EditedBy,
		PolicyRule: a.PolicyRule, PolicyDigest: a.PolicyDigest, State: a.State, Approver: a.Approver, DecidedAt: a.DecidedAt,
		ConsumedDispatch: a.ConsumedDispatch, ExpiresAt: a.ExpiresAt, CreatedAt: a.CreatedAt,
		Decisions: documents(a.Decisions, func(r reads.DecisionRecord) decisionDocument { return decisionDocument(r) }),
		Escalated: a.Escalated,
	}
}

// documents returns the documents of rows, in the same order.
func documents[R, D any](rows []R, of func(R) D) []D {
	list := make([]D, len(rows))
	for i, r := range rows {
		list[i] = of(r)
	}
	return list
}
