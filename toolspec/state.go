package toolspec

import "encoding/json"

// Status is where a call stands.
type Status string

// The statuses.
const (
	StatusRunning         Status = "running"
	StatusWaitingApproval Status = "waiting_approval"
	StatusWaitingCapacity Status = "waiting_capacity"
	StatusRetrying        Status = "retrying"
	StatusParkedUnknown   Status = "parked_unknown"
	StatusSettled         Status = "settled"
)

// State is the answer to the query `state`. It never holds raw arguments.
type State struct {
	Status      Status        `json:"status"`
	Stage       string        `json:"stage"`
	InputDigest string        `json:"inputDigest,omitempty"`
	Approval    *ApprovalView `json:"approval,omitempty"`
	// Waiting says what a call that waits for capacity lacks.
	Waiting  string       `json:"waiting,omitempty"`
	Attempts int          `json:"attempts"`
	Plan     *PlanSummary `json:"plan,omitempty"`
	// Dropped counts the decisions that came as signals and that the call did not take
	// in, because they cannot count.
	Dropped int `json:"dropped,omitempty"`
	// Answers are the last answers to decisions that came as signals: up to 16 to those
	// that the call took in, then up to 16 to those that it dropped, oldest first.
	Answers []SignalAnswer `json:"answers,omitempty"`
}

// SignalAnswer is the answer to a decision that came as a signal.
type SignalAnswer struct {
	// ID is that of the decision: see Decision.ID.
	ID         string `json:"id"`
	ApprovalID string `json:"approvalId"`
	// Counted, Reason and Again are as in Answer.
	Counted bool   `json:"counted"`
	Reason  string `json:"reason,omitempty"`
	Again   bool   `json:"again,omitempty"`
}

// Answer returns what an update with the decision would have been answered.
func (a SignalAnswer) Answer() Answer {
	return Answer{Counted: a.Counted, Reason: a.Reason, Again: a.Again}
}

// ApprovalView is what an approver sees: never secrets.
type ApprovalView struct {
	ApprovalID string `json:"approvalId"`
	ToolID     string `json:"toolId"`
	Effect     Effect `json:"effect"`
	Risk       Risk   `json:"risk"`
	// Args are redacted.
	Args json.RawMessage `json:"args,omitempty"`
	// Digest binds the approval to exactly this call.
	Digest string `json:"digest"`
	// Message is why policy asks.
	Message string `json:"message,omitempty"`
	// RequestedBy is the actor of the call.
	RequestedBy string `json:"requestedBy"`
	// Approvers says in words who may decide.
	Approvers   string `json:"approvers"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
	// Parked is empty where the call waits for an approval. Else the call was made
	// and nobody knows whether it took effect: it is why, and the decisions are
	// retry, settle_ok and settle_failed.
	Parked string `json:"parked,omitempty"`
	// Escalations are who may decide too once the request has waited, in order.
	Escalations []Escalation `json:"escalations,omitempty"`
}

// Escalation is a time from which further people may decide on a request.
type Escalation struct {
	// AtMs is by the database's clock.
	AtMs int64 `json:"atMs"`
	// Approvers says in words who they are.
	Approvers string `json:"approvers"`
}

// PlanSummary is the part of the plan that people ask for.
type PlanSummary struct {
	ToolDigest   string   `json:"toolDigest,omitempty"`
	PolicyDigest string   `json:"policyDigest,omitempty"`
	Lane         string   `json:"lane"`
	Stages       []string `json:"stages"`
}
