package client

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// CallSummary is a call in a list. The JSON names and the order of the fields are a contract with
// scripts, here and in the types below: `pawl list --json` prints it.
type CallSummary struct {
	InvocationID string `json:"invocationId"`
	RunID        string `json:"runId"`
	ToolCallID   string `json:"toolCallId"`
	ToolID       string `json:"toolId"`
	ActorID      string `json:"actorId"`
	WorkflowID   string `json:"workflowId"`
	// Status is running, waiting_approval, parked_unknown, waiting_capacity or settled. It is the
	// state in the record; Client.State is more precise.
	Status toolspec.Status `json:"status"`
	// Outcome is ok or the error code of a settled call. It is empty for an open call.
	Outcome   string     `json:"outcome,omitempty"`
	Attempts  int        `json:"attempts"`
	StartedAt time.Time  `json:"startedAt"`
	SettledAt *time.Time `json:"settledAt,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
}

// CallRecord is everything that the record has about a call. `pawl show --json` prints it. Arguments
// and outputs are redacted.
type CallRecord struct {
	CallSummary

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
	// InputHistory has each value that the arguments had, redacted and in order, for example before and after a hook
	// changed them. An entry is null if nothing of the value may be shown. OutputHistory has, in order, the values of the
	// output that may be shown: a value that a hook has hidden is left out. Each is nil while the call is open, and if
	// it has fewer than two values.
	InputHistory  []json.RawMessage `json:"inputHistory,omitempty"`
	OutputHistory []json.RawMessage `json:"outputHistory,omitempty"`
	Stages        []StageRecord     `json:"stages,omitempty"`
	AttemptList   []AttemptRecord   `json:"attemptList,omitempty"`
	Hydrations    []HydrationRecord `json:"hydrations,omitempty"`
	Claims        []ClaimRecord     `json:"claims,omitempty"`
	Outputs       []OutputRecord    `json:"outputs,omitempty"`
	Capacity      []CapacityRecord  `json:"capacity,omitempty"`
	Approvals     []ApprovalRecord  `json:"approvals,omitempty"`
	Events        []EventRecord     `json:"events,omitempty"`
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

// AttemptRecord is one dispatch of the tool.
type AttemptRecord struct {
	Attempt    int           `json:"attempt"`
	Dispatch   int           `json:"dispatch,omitempty"`
	Lane       hook.Lane     `json:"lane"`
	Outcome    string        `json:"outcome"`
	Code       toolspec.Code `json:"code,omitempty"`
	At         time.Time     `json:"at"`
	DurationUs int64         `json:"durationUs"`
}

// HydrationRecord is one hydration of the arguments.
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

// OutputRecord is a stored output of a call.
type OutputRecord struct {
	// Ref is its reference.
	Ref          string `json:"ref"`
	InvocationID string `json:"invocationId"`
	ToolID       string `json:"toolId"`
	MediaType    string `json:"mediaType"`
	// State is writing, complete or expired. Only an output that is named by the result of its call, or by
	// a value in the cache, stays when the call has ended.
	State string `json:"state"`
	// Bytes is the size of what the tool has written so far.
	Bytes     int64     `json:"bytes"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// CapacityRecord is a token of a quota, a slot of a limit or the lease of a connection that an open call holds, waits for or has lost.
type CapacityRecord struct {
	// Kind is quota, semaphore or another kind of lease.
	Kind string `json:"kind"`
	// Key names the limit and the scope in which it counts.
	Key string `json:"key"`
	// State is held, waiting or lost.
	State string `json:"state"`
	// Ahead is the number of calls before this call in the queue.
	Ahead int `json:"ahead,omitempty"`
	// At is when a token becomes available, or when a lease expires if it is not renewed.
	At time.Time `json:"at"`
}

// EventRecord is an entry of the audit trail.
type EventRecord struct {
	Kind    string          `json:"kind"`
	AuditID string          `json:"auditId,omitempty"`
	At      time.Time       `json:"at"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// ApprovalRecord is an approval request with its decisions. `pawl approvals --json` prints it.
type ApprovalRecord struct {
	toolspec.ApprovalView

	InvocationID string                `json:"invocationId"`
	WorkflowID   string                `json:"workflowId"`
	Number       int                   `json:"number"`
	EditedBy     string                `json:"editedBy,omitempty"`
	PolicyRule   string                `json:"policyRule,omitempty"`
	PolicyDigest string                `json:"policyDigest,omitempty"`
	State        contract.RequestState `json:"state"`
	Approver     string                `json:"approver,omitempty"`
	DecidedAt    *time.Time            `json:"decidedAt,omitempty"`
	// ConsumedDispatch is the first dispatch that used the approval, or nil.
	ConsumedDispatch *int             `json:"consumedDispatch,omitempty"`
	ExpiresAt        time.Time        `json:"expiresAt"`
	CreatedAt        time.Time        `json:"createdAt"`
	Decisions        []DecisionRecord `json:"decisions,omitempty"`
	// Escalated counts the escalations whose time had come when this was read, by the database
	// clock.
	Escalated int `json:"escalated,omitempty"`
	// Missing describes the approvals that an open request still waits for: first the approvals for
	// policy, then the approvals for each hook that names approvers. A parked call has none.
	Missing []string `json:"missing,omitempty"`
}

// DecisionRecord is a verified decision. It may not have counted.
type DecisionRecord struct {
	ApprovalID string        `json:"-"`
	Decision   toolspec.Verb `json:"decision"`
	Approver   string        `json:"approver"`
	Reason     string        `json:"reason,omitempty"`
	Remember   bool          `json:"remember,omitempty"`
	// Signed says that a signature of the approver was verified. KeyID is the key.
	Signed  bool   `json:"signed,omitempty"`
	KeyID   string `json:"keyId,omitempty"`
	Counted bool   `json:"counted"`
	// Final says that the decision gave the request its final answer.
	Final bool `json:"final,omitempty"`
	// Entry is the index of the entry in the chain of approvers for which the decision counted, from 0.
	Entry int `json:"entry,omitempty"`
	// HookEntries has, for each hook that names approvers, the index of the hook's entry for which the decision
	// counted, or -1 if it did not count for that hook.
	HookEntries []int `json:"hookEntries,omitempty"`
	// WhyNot is the answer to the sender: the reason why the decision did not count, or a remark
	// if it did.
	WhyNot string    `json:"whyNot,omitempty"`
	At     time.Time `json:"at"`
}
