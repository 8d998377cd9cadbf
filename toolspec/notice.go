package toolspec

import "time"

// NoticeKind is what a notice tells.
type NoticeKind string

// The kinds. Every request that somebody is asked about has one NoticeRequested, at most
// one NoticeReminded and, at the end, one of the last three.
const (
	// NoticeRequested: a call waits for people.
	NoticeRequested NoticeKind = "requested"
	// NoticeReminded: nobody has decided for a while.
	NoticeReminded NoticeKind = "reminded"
	// NoticeEscalated: nobody has, for longer, and others may decide from now on.
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

// Notice tells what became of an approval request. A notice comes at least once, notices
// of one request in any order; the same ID says the same again, whatever else differs.
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
	// EscalatedTo says in words to whom it goes, if it is escalated.
	EscalatedTo string `json:"escalatedTo,omitempty"`
	// DecidedBy, Decision and Reason are there if somebody has voted or decided,
	// and so is Remark, what the approver was told: for whom the request waits now.
	DecidedBy string `json:"decidedBy,omitempty"`
	Decision  Verb   `json:"decision,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Remark    string `json:"remark,omitempty"`
	// Attempts counts from 1 how often it was sent to this notifier.
	Attempts int `json:"-"`
}
