package toolspec

import "encoding/json"

// RunEventKind is what happened in a run.
type RunEventKind string

// The kinds of events of a run. Each call has exactly one RunCallStart and one RunCallResult, in this
// order, however it ends. RunDone is the last event of a model's turn.
const (
	RunCallStart         RunEventKind = "tool_call_start"
	RunApprovalRequested RunEventKind = "approval_requested"
	RunApprovalDecided   RunEventKind = "approval_decided"
	RunCallProgress      RunEventKind = "tool_call_progress"
	RunCallResult        RunEventKind = "tool_call_result"
	RunTextDelta         RunEventKind = "text_delta"
	RunDone              RunEventKind = "done"
)

// RunEvent is an event of a run. Its values are redacted: they are those of the record.
type RunEvent struct {
	// Seq counts the events of the run from 1, without gaps, in the order in which watchers see them.
	Seq int64 `json:"seq"`
	// AtMs is when the event was written, in milliseconds since 1970-01-01 UTC.
	AtMs int64        `json:"atMs"`
	Kind RunEventKind `json:"kind"`
	// ToolCallID, InvocationID and ToolID name the call of the event. They are empty in RunTextDelta
	// and RunDone.
	ToolCallID   string `json:"toolCallId,omitempty"`
	InvocationID string `json:"invocationId,omitempty"`
	ToolID       string `json:"toolId,omitempty"`
	// Args are the masked arguments, in RunCallStart and RunApprovalRequested. They are absent if the
	// arguments were never valid.
	Args json.RawMessage `json:"args,omitempty"`
	// Approval is set in RunApprovalRequested and RunApprovalDecided.
	Approval *RunApproval `json:"approval,omitempty"`
	// Progress is set in RunCallProgress.
	Progress *Progress `json:"progress,omitempty"`
	// Result is set in RunCallResult.
	Result *Result `json:"result,omitempty"`
	// Text is set in RunTextDelta. OwnerID is the identity that may watch it, such as user:ann.
	Text    string `json:"text,omitempty"`
	OwnerID string `json:"ownerId,omitempty"`
}

// RunApproval is an approval request of a call in an event.
type RunApproval struct {
	ApprovalID string `json:"approvalId"`
	// Message is what the approver reads.
	Message string `json:"message,omitempty"`
	// Decision and Approver are set when the request was decided. Decision is approved, denied, edited,
	// withdrawn, expired or closed.
	Decision string `json:"decision,omitempty"`
	Approver string `json:"approver,omitempty"`
}
