package documents

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Call is a call as `pawl list --json` prints it. The names and the order of the fields are a
// contract with scripts, here and in the other documents.
type Call struct {
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

// Show is a call as `pawl show --json` prints it.
type Show struct {
	Call

	TenantID      string            `json:"tenantId"`
	SubjectID     string            `json:"subjectId,omitempty"`
	SessionID     string            `json:"sessionId,omitempty"`
	RequestID     string            `json:"requestId,omitempty"`
	GraphID       string            `json:"graphId,omitempty"`
	ConnectionID  string            `json:"connectionId,omitempty"`
	TemporalRunID string            `json:"temporalRunId"`
	Epoch         int               `json:"epoch"`
	InputDigest   string            `json:"inputDigest"`
	Plan          hook.Plan         `json:"plan"`
	Rounds        contract.Rounds   `json:"rounds,omitzero"`
	PolicyDigest  string            `json:"policyDigest,omitempty"`
	Result        *toolspec.Result  `json:"result,omitempty"`
	SafeArgs      json.RawMessage   `json:"safeArgs,omitempty"`
	InputHistory  []json.RawMessage `json:"inputHistory,omitempty"`
	OutputHistory []json.RawMessage `json:"outputHistory,omitempty"`
	Stages        []stage           `json:"stages,omitempty"`
	AttemptList   []attempt         `json:"attemptList,omitempty"`
	Hydrations    []hydration       `json:"hydrations,omitempty"`
	Claims        []claim           `json:"claims,omitempty"`
	Capacity      []capacity        `json:"capacity,omitempty"`
	Approvals     []Approval        `json:"approvals,omitempty"`
	Events        []event           `json:"events,omitempty"`
}

// stage is one stage that ran.
type stage struct {
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

// attempt is one dispatch of the tool.
type attempt struct {
	Attempt    int           `json:"attempt"`
	Dispatch   int           `json:"dispatch,omitempty"`
	Lane       hook.Lane     `json:"lane"`
	Outcome    string        `json:"outcome"`
	Code       toolspec.Code `json:"code,omitempty"`
	At         time.Time     `json:"at"`
	DurationUs int64         `json:"durationUs"`
}

// hydration is one hydration of the arguments.
type hydration struct {
	At         time.Time           `json:"at"`
	Provenance toolspec.Provenance `json:"provenance"`
}

// claim is a claim or a tombstone.
type claim struct {
	Dispatch   int       `json:"dispatch"`
	Kind       string    `json:"kind"`
	Epoch      int       `json:"epoch"`
	ApprovalID string    `json:"approvalId,omitempty"`
	At         time.Time `json:"at"`
}

// capacity is limited capacity that an open call holds or waits for.
type capacity struct {
	Kind  string    `json:"kind"`
	Key   string    `json:"key"`
	State string    `json:"state"`
	Ahead int       `json:"ahead,omitempty"`
	At    time.Time `json:"at"`
}

// event is one entry of the audit trail.
type event struct {
	Kind    string          `json:"kind"`
	AuditID string          `json:"auditId,omitempty"`
	At      time.Time       `json:"at"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// Approval is an approval request as `pawl approvals --json` prints it.
type Approval struct {
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
	Decisions        []decision            `json:"decisions,omitempty"`
	Escalated        int                   `json:"escalated,omitempty"`
}

// decision is a verified decision. Counted says whether it counted.
type decision struct {
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

// OfDetail returns the document of a call.
func OfDetail(d reads.Detail) Show {
	return Show{
		Call: Call(d.Call), TenantID: d.TenantID, SubjectID: d.SubjectID, SessionID: d.SessionID, RequestID: d.RequestID,
		GraphID: d.GraphID, ConnectionID: d.ConnectionID, TemporalRunID: d.TemporalRunID, Epoch: d.Epoch, InputDigest: d.InputDigest,
		Plan: d.Plan, Rounds: d.Rounds, PolicyDigest: d.PolicyDigest, Result: d.Result, SafeArgs: d.SafeArgs,
		InputHistory: d.InputHistory, OutputHistory: d.OutputHistory,
		Stages:      List(d.Stages, func(r reads.StageRecord) stage { return stage(r) }),
		AttemptList: List(d.AttemptList, func(r reads.AttemptRecord) attempt { return attempt(r) }),
		Hydrations:  List(d.Hydrations, func(r reads.HydrationRecord) hydration { return hydration(r) }),
		Claims:      List(d.Claims, func(r reads.ClaimRecord) claim { return claim(r) }),
		Capacity:    List(d.Capacity, func(r reads.CapacityRecord) capacity { return capacity(r) }),
		Approvals:   List(d.Approvals, OfApproval),
		Events:      List(d.Events, func(r reads.EventRecord) event { return event(r) }),
	}
}

// OfApproval returns the document of an approval request.
func OfApproval(a reads.Approval) Approval {
	return Approval{
		ApprovalView: a.ApprovalView, InvocationID: a.InvocationID, WorkflowID: a.WorkflowID, Number: a.Number, EditedBy: a.EditedBy,
		PolicyRule: a.PolicyRule, PolicyDigest: a.PolicyDigest, State: a.State, Approver: a.Approver, DecidedAt: a.DecidedAt,
		ConsumedDispatch: a.ConsumedDispatch, ExpiresAt: a.ExpiresAt, CreatedAt: a.CreatedAt,
		Decisions: List(a.Decisions, func(r reads.DecisionRecord) decision { return decision(r) }),
		Escalated: a.Escalated,
	}
}

// List returns the documents of the rows, in the same order.
func List[R, D any](rows []R, of func(R) D) []D {
	list := make([]D, len(rows))
	for i, r := range rows {
		list[i] = of(r)
	}
	return list
}
