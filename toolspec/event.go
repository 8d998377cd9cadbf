package toolspec

// The kinds of events that the record of a call has of itself. A hook cannot write
// them. EventStart and EventResult stand there exactly once per settled call,
// however it ended: the start with the redacted arguments as they were validated,
// or with none if they never were, and the result with what the submitter was
// told. Both carry the toolCallId.
const (
	EventStart             = "tool_call_start"
	EventResult            = "tool_call_result"
	EventApprovalRequested = "approval_requested"
	EventApprovalReminded  = "approval_reminded"
	EventApprovalEscalated = "approval_escalated"
	EventDecision          = "decision"
	EventSwept             = "swept"
	EventRelationAdded     = "relation_added"
	EventRelationRemoved   = "relation_removed"
	EventSubmitterAdded    = "submitter_added"
	EventSubmitterRevoked  = "submitter_revoked"
)

// OwnEvent reports whether an event of this kind is Pawl's own.
func OwnEvent(kind string) bool {
	switch kind {
	case EventStart, EventResult, EventApprovalRequested, EventApprovalReminded, EventApprovalEscalated, EventDecision, EventSwept, EventRelationAdded, EventRelationRemoved,
		EventSubmitterAdded, EventSubmitterRevoked:
		return true
	default:
		return false
	}
}
