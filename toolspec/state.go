package toolspec

import "encoding/json"

// Status says what a call does at this time.
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
	// Status says what the call does at this time. parked_unknown means that the outcome of an attempt is
	// unknown, and that the call waits for a person.
	Status Status `json:"status"`
	// Stage is the stage or step that runs or ran last: one of the 32 stages, or a step such as
	// admit, hydrate, requestApproval, execute, reconcile or settle.
	Stage string `json:"stage"`
	// InputDigest is the digest of the input, as in the result. It is absent before the call is
	// admitted, and if the input got no record.
	InputDigest string `json:"inputDigest,omitempty"`
	// Approval is the request that waits for a decision, if any.
	Approval *ApprovalView `json:"approval,omitempty"`
	// Waiting says in words what the call waits for, while its status is waiting_capacity. If a hook
	// has set the time until which the call waits, this text is the reason that the hook gave.
	Waiting string `json:"waiting,omitempty"`
	// Attempts is the number of the current attempt, from 1. It is 0 before the first attempt.
	Attempts int `json:"attempts"`
	// Plan is the plan of the call. Its policyDigest, toolDigest and lane can change until the call ends.
	// It is absent if the input got no record.
	Plan *PlanSummary `json:"plan,omitempty"`
	// Dropped is the number of dropped signals. Their decisions have not counted.
	Dropped int `json:"dropped,omitempty"`
	// Answers are the last answers to decisions that came as signals. First come the answers to
	// decisions that the call accepted, then the answers to dropped decisions. Each group has at most
	// 16 answers, the oldest first.
	Answers []SignalAnswer `json:"answers,omitempty"`
}

// SignalAnswer is the answer to a decision that came as a signal.
type SignalAnswer struct {
	// ID is an id for Pawl's Go client: the lower-case hexadecimal SHA-256 of the bytes that this client
	// sends. The update id is another hash: it is made of the canonical JSON of the decision. Other programs
	// find their answer by the approvalId.
	ID string `json:"id"`
	// ApprovalID is the id of the request that the decision names.
	ApprovalID string `json:"approvalId"`
	// Counted says whether the decision changed anything.
	Counted bool `json:"counted"`
	// Reason says why the decision did not count, as in the answer to an update.
	Reason string `json:"reason,omitempty"`
	// Again says that the same decision may be sent again, as in the answer to an update.
	Again bool `json:"again,omitempty"`
}

// Answer returns what an update with the decision would have been answered.
func (a SignalAnswer) Answer() Answer {
	return Answer{Counted: a.Counted, Reason: a.Reason, Again: a.Again}
}

// ApprovalView is what an approver sees: never secrets.
type ApprovalView struct {
	// ApprovalID is the id to decide on.
	ApprovalID string `json:"approvalId"`
	// ToolID is the id of the tool.
	ToolID string `json:"toolId"`
	// Effect is what the tool may change.
	Effect Effect `json:"effect"`
	// Risk is the risk of the call: as the tool declares it, or as a rule raised it.
	Risk Risk `json:"risk"`
	// Args are the arguments as approvers see them: values that the tool masks are ***.
	Args json.RawMessage `json:"args,omitempty"`
	// Digest is the approval digest, which binds the approval to exactly this call.
	Digest string `json:"digest"`
	// Preview says what the call would do. It is absent if the tool has no preview, and if the outcome of
	// the call is unknown.
	Preview *PreviewView `json:"preview,omitempty"`
	// PreviewDigest is the SHA-256 of the whole text of the preview, before it was masked and cut. If the
	// text differs when an attempt of the approved call begins, the call ends with approval_stale. It is
	// absent if the approval covers the arguments alone. See the section Approval digest of the contract.
	PreviewDigest string `json:"previewDigest,omitempty"`
	// Message is the reason that policy gives for the request.
	Message string `json:"message,omitempty"`
	// RequestedBy is the actor of the call.
	RequestedBy string `json:"requestedBy"`
	// OnBehalfOf is the subject of the call. It is absent if the call has none.
	OnBehalfOf string `json:"onBehalfOf,omitempty"`
	// Approvers says in words who may decide.
	Approvers string `json:"approvers"`
	// ExpiresAtMs is when the request expires, in milliseconds since 1970-01-01 UTC, by the
	// database's clock.
	ExpiresAtMs int64 `json:"expiresAtMs"`
	// Parked says why the outcome of the call is unknown. If it is present, the request accepts the
	// decisions retry, settle_ok and settle_failed. It is absent if the call waits for an approval.
	Parked string `json:"parked,omitempty"`
	// Escalations are the times after which more people may decide, the earliest first. They are
	// absent if policy adds no people.
	Escalations []Escalation `json:"escalations,omitempty"`
}

// Escalation is a time from which further people may decide on a request.
type Escalation struct {
	// AtMs is when the added people may begin to decide, in milliseconds since 1970-01-01 UTC,
	// by the database's clock.
	AtMs int64 `json:"atMs"`
	// Approvers says in words which people may decide from then on.
	Approvers string `json:"approvers"`
}

// PlanSummary is the part of the plan that people ask for.
type PlanSummary struct {
	// ToolDigest is the digest of the tool's contract. After a deployment it can be the digest of another
	// version of the tool. It is absent if no worker knew the tool.
	ToolDigest string `json:"toolDigest,omitempty"`
	// PolicyDigest is the digest of the policy version that judged the call last. It is absent if no
	// policy was active.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// Lane is the lane of the call: local runs the tool inside the workflow task, regular runs it
	// as an activity.
	Lane string `json:"lane"`
	// Stages are the stages that are active for this call, in order. The list also has the step
	// hydrate.
	Stages []string `json:"stages"`
}
