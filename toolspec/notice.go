package toolspec

import "time"

// NoticeKind is the kind of event that a notice reports.
type NoticeKind string

// The kinds. Every request for which Pawl asks people has one NoticeRequested, at most one
// NoticeReminded and, at the end, one of the last three.
const (
	// NoticeRequested: a call waits for people.
	NoticeRequested NoticeKind = "requested"
	// NoticeReminded: nobody has decided for a while.
	NoticeReminded NoticeKind = "reminded"
	// NoticeEscalated: nobody has decided for a longer time, and further people may decide from now
	// on.
	NoticeEscalated NoticeKind = "escalated"
	// NoticeVoted: one of several people has approved, and others still have to.
	NoticeVoted NoticeKind = "voted"
	// NoticeDecided: a decision has answered the request for good.
	NoticeDecided NoticeKind = "decided"
	// NoticeExpired: nobody decided in time.
	NoticeExpired NoticeKind = "expired"
	// NoticeClosed: nobody needs to decide any more, as when the call was cancelled.
	NoticeClosed NoticeKind = "closed"
)

// Notice reports an event of an approval request. Each notice is delivered at least once, and the
// notices of a request come in any order. A notice with the ID of an earlier notice is a repetition
// of it, even if other fields differ.
type Notice struct {
	// ID has letters, digits, - and _ only.
	ID   string     `json:"id"`
	Kind NoticeKind `json:"kind"`
	// At is when it happened, by the database's clock.
	At time.Time `json:"at"`

	TenantID     string `json:"tenantId"`
	InvocationID string `json:"invocationId"`
	WorkflowID   string `json:"workflowId"`
	// Approval is the request as it was opened, with redacted arguments.
	Approval ApprovalView `json:"approval"`
	// EscalatedTo says in words who may decide after an escalation.
	EscalatedTo string `json:"escalatedTo,omitempty"`
	// DecidedBy, Decision and Reason are set if somebody has voted or decided. Remark then is the
	// remark that the approver got, such as whose decisions are still missing.
	DecidedBy string `json:"decidedBy,omitempty"`
	Decision  Verb   `json:"decision,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Remark    string `json:"remark,omitempty"`
	// Attempts counts from 1 how often the notice was sent to this notifier.
	Attempts int `json:"-"`
}
