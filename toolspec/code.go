package toolspec

// Code is the closed set of reasons for which a call ends without a value.
type Code string

// The codes. Codes documents each.
const (
	CodeInvalidJSON      Code = "invalid_json"
	CodeIncomplete       Code = "incomplete"
	CodeValidation       Code = "validation"
	CodeUnavailable      Code = "unavailable"
	CodePolicyDenied     Code = "policy_denied"
	CodeAuthzDenied      Code = "authz_denied"
	CodeApprovalDenied   Code = "approval_denied"
	CodeApprovalExpired  Code = "approval_expired"
	CodeApprovalStale    Code = "approval_stale"
	CodeConflict         Code = "conflict"
	CodeRateLimited      Code = "rate_limited"
	CodeCapacity         Code = "capacity"
	CodeOutputQuota      Code = "output_quota"
	CodeNeedsReauth      Code = "needs_reauth"
	CodeExecution        Code = "execution"
	CodeTimeout          Code = "timeout"
	CodeAborted          Code = "aborted"
	CodeOutputValidation Code = "output_validation"
	CodeRedactionFailed  Code = "redaction_failed"
	CodeResultTooLarge   Code = "result_too_large"
	CodeOutcomeUnknown   Code = "outcome_unknown"
	CodeCancelled        Code = "cancelled"
	CodeInternal         Code = "internal"
)

// ErrorPrefix begins the safe message of an error of a tool, and everything that a model reads of a
// failed call.
const ErrorPrefix = "Error executing tool: "

// Kind groups codes by who can do something about them.
type Kind string

// The kinds.
const (
	KindInput    Kind = "input"    // the submitter sends something else
	KindRefused  Kind = "refused"  // policy or a person said no
	KindConflict Kind = "conflict" // the identity is taken by another call
	KindBusy     Kind = "busy"     // try a new call later
	KindTool     Kind = "tool"     // the tool failed
	KindUnknown  Kind = "unknown"  // an effect may have happened
	KindEnded    Kind = "ended"    // somebody stopped it
	KindBug      Kind = "bug"      // Pawl or a hook is wrong
)

// Info is a row of the code table.
type Info struct {
	Code Code
	Kind Kind
	// Retryable says whether another attempt of the same call may help. Whether Pawl makes another
	// attempt depends on the effect of the tool, too.
	Retryable bool
	// HTTP is the status to answer with when a call is exposed over HTTP.
	HTTP int
	// Exit is the exit status of the CLI, 1–125.
	Exit int
	// Message is the safe text used where nothing better is known.
	Message string
	// Meaning is the line of the documentation.
	Meaning string
}

// Codes is the closed table, in the order of a call's life.
func Codes() []Info {
	return []Info{
		{CodeInvalidJSON, KindInput, false, 400, 10, "Invalid tool arguments JSON", "The arguments are not valid JSON."},
		{CodeIncomplete, KindInput, false, 400, 11, "The tool call is incomplete", "The provider's stream ended inside the tool call."},
		{CodeValidation, KindInput, false, 422, 12, "The tool call is not valid", "The call or its arguments break a rule; `details` names the path."},
		{CodeUnavailable, KindInput, false, 404, 13, "Tool not found", "No worker has this tool."},
		{CodePolicyDenied, KindRefused, false, 403, 20, "Permission denied by policy", "Policy does not allow the call, or no longer does."},
		{CodeAuthzDenied, KindRefused, false, 403, 21, "Permission denied", "The actor may not run this tool for this subject."},
		{CodeApprovalDenied, KindRefused, false, 403, 22, "Permission denied by the approver", "A person refused, or the request was withdrawn."},
		{CodeApprovalExpired, KindRefused, false, 403, 23, "The approval request expired", "Nobody decided in time."},
		{CodeApprovalStale, KindRefused, false, 409, 24, "What was approved has changed", "Tool, effect, risk or approver rule changed after the approval."},
		{CodeConflict, KindConflict, false, 409, 30, "The call id is taken by a call with other arguments", "Same (tenant, run, toolCallId), other input."},
		{CodeRateLimited, KindBusy, false, 429, 31, "Rate limit reached", "A quota, a hook or a busy worker asked to come back later; see `retryAfterMs`."},
		{CodeCapacity, KindBusy, false, 503, 32, "No capacity", "No slot was free in time."},
		{CodeOutputQuota, KindBusy, false, 507, 34, "No storage is left for outputs: delete outputs, wait until some expire, or raise PAWL_OUTPUT_QUOTA", "The stored outputs of the tenant use its whole quota. The tool ran."},
		{CodeNeedsReauth, KindRefused, false, 401, 33, "The connection must be authorised again", "The broker holds no usable credential."},
		{CodeExecution, KindTool, true, 502, 40, ErrorPrefix + "the tool failed", "The tool returned an error or panicked."},
		{CodeTimeout, KindTool, true, 504, 41, "The tool timed out", "The tool took longer than its budget."},
		{CodeAborted, KindRefused, false, 409, 42, "Aborted", "A hook or the tool stopped the call; its own code is in `details.code`."},
		{CodeOutputValidation, KindTool, false, 502, 43, "The tool returned an invalid result", "The result breaks the tool's own output schema."},
		{CodeRedactionFailed, KindTool, false, 502, 44, "The result could not be redacted", "Redaction failed, so nothing is shown."},
		{CodeResultTooLarge, KindTool, false, 502, 45, "The result is too large", "The redacted result exceeds maxResultBytes."},
		{CodeOutcomeUnknown, KindUnknown, false, 502, 50, "The outcome is unknown", "The effect may have happened; it was not repeated. See `details.cause`."},
		{CodeCancelled, KindEnded, false, 499, 51, "Cancelled", "Somebody cancelled the call before it took effect."},
		{CodeInternal, KindBug, false, 500, 70, "Internal error", "A hook or Pawl itself failed."},
	}
}

// InfoOf returns the row of c; an unknown code answers as CodeInternal.
func InfoOf(c Code) Info {
	table := Codes()
	for _, info := range table {
		if info.Code == c {
			return info
		}
	}
	return table[len(table)-1]
}

// Known reports whether c is in the table.
func (c Code) Known() bool { return InfoOf(c).Code == c }
