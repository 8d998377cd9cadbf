package docsgen

// words say what every field of the contract means. They stand in the schemas
// and in docs/contract.md.
var words = map[string]string{
	"Invocation.ToolID":     "The namespaced id of the tool, such as core__read_file.",
	"Invocation.ToolCallID": "The model's or the caller's id of this call: 1 to 128 printable characters. With tenantId and runId it is the identity of the call.",
	"Invocation.Args": "The arguments: a JSON object, or a string that holds the JSON of one. Absent and null mean {}. " +
		"At most 65536 bytes, and less where the tool says so.",
	"Invocation.Context":              "Who calls, for whom and in what run. Opaque references only, never credentials.",
	"Invocation.AllowedConnectionIDs": "Narrows the connections that this call may use; absence never means all. Part of the input digest. This version uses no connections. At most 256 entries.",
	"Invocation.Provider":             "What the model's provider sent. Kept in the workflow's input for people who look; it influences nothing.",
	"Invocation.SubmitterProof":       "Reserved. It is accepted and not verified.",

	"Context.TenantID":     "The tenant: 1 to 48 characters of A-Z a-z 0-9 _ . -",
	"Context.RunID":        "The run that the call belongs to: 1 to 64 characters of A-Z a-z 0-9 _ . -",
	"Context.ActorID":      "Who calls: 1 to 200 printable characters, such as agent:planner. Compared byte by byte.",
	"Context.SubjectID":    "On whose behalf. Recorded and part of the digests; this version takes no decision by it.",
	"Context.SessionID":    "The session, for correlation. Not part of the input digest.",
	"Context.RequestID":    "The request, for correlation. Not part of the input digest.",
	"Context.GraphID":      "The graph or agent that the run executes.",
	"Context.ConnectionID": "The connection that the tool is to use, an opaque id. This version has no grants: a call of a tool that requires a connection ends with policy_denied.",
	"Context.VirtualKeyID": "The virtual key by which the caller came, an opaque id.",
	"Context.ToolIDs":      "The tools that the run may use. Absent or empty: the run narrows nothing. At most 1024 entries.",

	"Provider.Name":     "The name of the provider.",
	"Provider.ToolCall": "The tool call in the provider's own form, any JSON.",

	"Result.ToolCallID":   "As submitted; empty where the input could not be read so far.",
	"Result.InvocationID": "The derived id of the call; empty where the input got no record.",
	"Result.InputDigest":  "The digest of the input that this result is for. Compare it with your own. Empty where the input got no record.",
	"Result.OK":           "True: the call has a value. False: errorCode says why not.",
	"Result.Value":        "The redacted value, any JSON of at most 65536 bytes. Absent where outputRef stands.",
	"Result.ErrorCode":    "A code of the closed table in docs/errors.md. Absent where ok is true.",
	"Result.SafeMessage":  "A text for people that holds no argument, no output and no cause.",
	"Result.Details":      "More about a failure, safe to show.",
	"Result.HTTPStatus":   "The HTTP status to answer with where the call is exposed over HTTP. Absent where ok is true.",
	"Result.RetryAfterMs": "Advice when to make a new call, in milliseconds. This call is over.",
	"Result.Source":       "Where the value came from: the tool, a cache hook, or a hook that answered in the tool's place.",
	"Result.Attempts":     "How many attempts were dispatched.",
	"Result.Truncated":    "Reserved. This version truncates nothing.",
	"Result.OutputRef":    "The opaque name of a value of more than 65536 bytes, which Pawl keeps in Postgres.",
	"Result.StartedAtMs":  "When the call started, in milliseconds since 1970-01-01 UTC, by the workflow's clock.",
	"Result.EndedAtMs":    "When the call ended, by the same clock.",

	"Details.Path":       "The JSON pointer of the fault, from the root of the arguments or of the invocation.",
	"Details.Kind":       "Refines the code: missing_required, type_mismatch, unknown_field …",
	"Details.Problems":   "Every fault that was found, the first one first.",
	"Details.Code":       "A hook's own code where errorCode is aborted.",
	"Details.Cause":      "What ended an attempt whose outcome is unknown: timeout, cancelled, worker_stopped, result_not_saved, lost …",
	"Details.Rule":       "The policy rule that decided.",
	"Details.ApprovalID": "The approval request that was denied, expired or went stale.",
	"Details.Stage":      "The stage where the call ended.",

	"Problem.Path":    "The JSON pointer of the fault; empty for the whole.",
	"Problem.Kind":    "What kind of fault.",
	"Problem.Message": "The same in words, without the value.",

	"State.Status":      "Where the call stands. parked_unknown is reserved.",
	"State.Stage":       "The stage or step that runs or ran last: admit, hydrate, requestApproval, execute, settle, or one of the 32 stages.",
	"State.InputDigest": "As in the result. Absent before the call is admitted, and where the input got no record.",
	"State.Approval":    "The request that waits for a decision, if any.",
	"State.Waiting":     "What the call waits for while its status is waiting_capacity.",
	"State.Attempts":    "The number of the current attempt, from 1; 0 before the first.",
	"State.Plan":        "What the call was pinned to when it was admitted. Absent where the input got no record.",

	"ApprovalView.ApprovalID":  "The id to decide on.",
	"ApprovalView.ToolID":      "The tool.",
	"ApprovalView.Effect":      "What the tool may change.",
	"ApprovalView.Risk":        "The risk of the call: as declared, or raised by a rule.",
	"ApprovalView.Args":        "The arguments as approvers see them: values that the tool masks are ***.",
	"ApprovalView.Digest":      "What the approval is bound to, see the approval digest.",
	"ApprovalView.Message":     "Why policy asks.",
	"ApprovalView.RequestedBy": "The actor of the call.",
	"ApprovalView.Approvers":   "In words, who may decide.",
	"ApprovalView.ExpiresAtMs": "When the request expires, in milliseconds since 1970-01-01 UTC, by the database's clock.",

	"PlanSummary.ToolDigest":   "The digest of the tool's contract. Absent where no worker knew the tool.",
	"PlanSummary.PolicyDigest": "The policy version that the call was last judged by. Absent where none was active.",
	"PlanSummary.Lane":         "local: the tool runs inside the workflow task. regular: it runs as an activity.",
	"PlanSummary.Stages":       "The stages that are active for this call, and hydrate, in order.",

	"Decision.ApprovalID": "The request, as the state query names it: the invocationId, a dot and a number.",
	"Decision.Decision": "approve lets the call run. deny and withdraw end it with approval_denied. edit replaces the arguments and opens a new request. " +
		"retry, settle_ok and settle_failed are reserved and never count in this version.",
	"Decision.Approver":   "Who decides: 1 to 200 printable characters.",
	"Decision.Reason":     "Why, for the record: at most 2000 bytes. It is stored; do not put a secret into it.",
	"Decision.EditedArgs": "The new arguments, with the decision edit and only with it. With proof at most 65536 bytes.",
	"Decision.Remember":   "Accepted and recorded; this version remembers no approvals.",
	"Decision.Proof":      "A signed token over the whole decision. This version verifies none: a decision that carries one does not count.",

	"Answer.Counted": "Whether the decision changed anything.",
	"Answer.Reason":  "Why it did not count; safe to show. The texts are not part of the contract.",
}
