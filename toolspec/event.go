package toolspec

// The kinds of events that only Pawl itself writes. A hook cannot write them. A settled call has
// exactly one EventStart and one EventResult, however it ended. EventStart has the redacted
// arguments as they were validated, or none if they were never valid. EventResult has the result of
// the call. Both have the toolCallId.
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
