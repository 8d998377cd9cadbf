package toolspec

import "encoding/json"

// Source says where a value came from.
type Source string

// The sources of a value.
const (
	SourceExecuted  Source = "executed"
	SourceCache     Source = "cache"
	SourceResponded Source = "responded"
)

// Result is the result of a call, also of a call that failed or was denied. Its workflow is
// completed. A failed workflow means a bug.
type Result struct {
	// ToolCallID is the toolCallId as submitted. It is empty if Pawl refused the input before it
	// could read the toolCallId.
	ToolCallID string `json:"toolCallId"`
	// InvocationID is the derived id of the call. It is empty if the input got no record.
	InvocationID string `json:"invocationId"`
	// InputDigest is the digest of the input that this result is for: compare it with the digest
	// of the input that you sent. It is empty if the input got no record.
	InputDigest string `json:"inputDigest"`
	// OK says whether the call succeeded. If it is false, errorCode is the reason.
	OK bool `json:"ok"`
	// Value is the redacted value, any JSON of at most 65536 bytes. If truncated is true, it is a
	// shortened form of the value, which need not fit the tool's output schema.
	Value json.RawMessage `json:"value,omitempty"`
	// Kind is the kind of the value. text: a JSON string, of which a model reads the text without
	// quotes. parts: a list of texts, images, audio, documents and links. It is absent for any other
	// JSON value, and if ok is false.
	Kind ValueKind `json:"kind,omitempty"`
	// Bytes is the size of the whole redacted value as JSON, even if truncated is true. It is absent
	// if there is no value, and in results of older releases.
	Bytes int64 `json:"bytes,omitempty"`
	// ErrorCode is a code of the closed table in docs/errors.md. It is absent if ok is true.
	ErrorCode Code `json:"errorCode,omitempty"`
	// SafeMessage is a text for people that holds no argument, no output and no cause.
	SafeMessage string `json:"safeMessage,omitempty"`
	// Details are further facts about a failure, or about the decision of a person that ended the
	// call. They are safe to show.
	Details *Details `json:"details,omitempty"`
	// HTTPStatus is the status for a server that answers its own HTTP client with this result. It
	// is absent if ok is true.
	HTTPStatus int `json:"httpStatus,omitempty"`
	// RetryAfterMs is the number of milliseconds after which a new call may succeed. This call has
	// ended.
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
	// Source says where the value comes from. executed: from the tool, which this call ran. cache: from
	// a cache. responded: from a hook, or from a tool that called Respond.
	Source Source `json:"source,omitempty"`
	// Attempts is the number of attempts that ended. An attempt ends if the tool answers, if the
	// attempt is lost, or if a worker refuses to start the tool. An attempt that Pawl had to schedule
	// twice, because no worker began it, counts once. If the sweeper ended the call, this is the number
	// of claims: the attempts in the regular lane that began to run the tool. See claim in the glossary.
	Attempts int `json:"attempts"`
	// Truncated says that value is not the whole value: the whole has more than 65536 bytes, or the
	// tool declares what a part of it contains, such as a list or the output of a shell, and this part is
	// larger than the limit for such content. outputRef names the whole.
	Truncated bool `json:"truncated,omitempty"`
	// OutputRef is the opaque name of what Pawl stores beside the result: the whole value if truncated
	// is true, and otherwise the stream that the tool wrote. A result of an older release can have
	// outputRef without value and truncated: outputRef then names the whole value.
	OutputRef string `json:"outputRef,omitempty"`
	// StartedAtMs is when the call started, in milliseconds since 1970-01-01 UTC, by the
	// workflow's clock.
	StartedAtMs int64 `json:"startedAtMs"`
	// EndedAtMs is when the call ended, in milliseconds since 1970-01-01 UTC, by the workflow's
	// clock.
	EndedAtMs int64 `json:"endedAtMs"`
}

// Info returns what the result says about its value.
func (r Result) Info() OutputInfo {
	return OutputInfo{Kind: r.Kind, Bytes: r.Bytes, Truncated: r.Truncated, OutputRef: r.OutputRef}
}

// WithOutput returns the result with a value and its description.
func (r Result) WithOutput(value json.RawMessage, info OutputInfo) Result {
	r.Value, r.Kind, r.Bytes, r.Truncated, r.OutputRef = value, info.Kind, info.Bytes, info.Truncated, info.OutputRef
	return r
}

// Details explains a result without repeating what was sent.
type Details struct {
	// Path is the JSON pointer of the fault, from the root of the arguments or of the invocation.
	Path string `json:"path,omitempty"`
	// Kind says more precisely than errorCode what is wrong: missing_required, type_mismatch, unknown_property, unknown_field and
	// others.
	Kind string `json:"kind,omitempty"`
	// Problems are all faults that were found, the first fault first.
	Problems []Problem `json:"problems,omitempty"`
	// Code is the code that a hook or the tool gave to Abort, or feature_off if a feature flag of policy is off. It is present only
	// if errorCode is aborted.
	Code string `json:"code,omitempty"`
	// Cause says how an attempt with an unknown outcome ended: timeout, cancelled, worker_stopped,
	// result_not_saved, unanswered, lost, revoked and others.
	Cause string `json:"cause,omitempty"`
	// Rule is the policy rule that decided.
	Rule string `json:"rule,omitempty"`
	// ApprovalID is the id of an approval request. There are three cases: (1) a decision on the request
	// ended the call: deny, withdraw, settle_ok or settle_failed; (2) the request was open when the call
	// ended; (3) the request was approved, but the approval did not count any more. It is absent in
	// all other cases, for example if an approved call ends with the answer of its tool.
	ApprovalID string `json:"approvalId,omitempty"`
	// Stage is the stage at which the call ended.
	Stage string `json:"stage,omitempty"`
}

// Problem is one fault in the input.
type Problem struct {
	// Path is the JSON pointer of the fault. It is empty for the whole document.
	Path string `json:"path"`
	// Kind is the kind of the fault.
	Kind string `json:"kind"`
	// Message describes the fault in words, without the value.
	Message string `json:"message"`
	// Expected is the type that the schema wants there, if it is known.
	Expected string `json:"expected,omitempty"`
	// Got is the JSON type that was sent, if it is known; never the value.
	Got string `json:"got,omitempty"`
}

// Failure returns the unsuccessful half of a result: code, a safe message (if it is empty, the
// message of the code in the table) and details.
func Failure(code Code, safeMessage string, details *Details) Result {
	info := InfoOf(code)
	if safeMessage == "" {
		safeMessage = info.Message
	}
	return Result{ErrorCode: info.Code, SafeMessage: safeMessage, Details: details, HTTPStatus: info.HTTP}
}
