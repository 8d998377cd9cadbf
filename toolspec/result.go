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

// Result is how every call ends that the domain knows how to end: the result of
// a *completed* workflow. A *failed* workflow means a bug.
type Result struct {
	ToolCallID   string          `json:"toolCallId"`
	InvocationID string          `json:"invocationId"`
	InputDigest  string          `json:"inputDigest"`
	OK           bool            `json:"ok"`
	Value        json.RawMessage `json:"value,omitempty"`
	ErrorCode    Code            `json:"errorCode,omitempty"`
	// SafeMessage holds no argument, no output and no cause.
	SafeMessage string `json:"safeMessage,omitempty"`
	// Details are safe too: paths, rules, codes of hooks.
	Details      *Details `json:"details,omitempty"`
	HTTPStatus   int      `json:"httpStatus,omitempty"`
	RetryAfterMs int64    `json:"retryAfterMs,omitempty"`
	Source       Source   `json:"source,omitempty"`
	// Attempts counts the attempts that were dispatched.
	Attempts  int  `json:"attempts"`
	Truncated bool `json:"truncated,omitempty"`
	// OutputRef names the stored value where it exceeds MaxInline.
	OutputRef   string `json:"outputRef,omitempty"`
	StartedAtMs int64  `json:"startedAtMs"`
	EndedAtMs   int64  `json:"endedAtMs"`
}

// Details explains a result without repeating what was sent.
type Details struct {
	// Path is the JSON pointer of the fault, from the root of the arguments or
	// of the invocation.
	Path string `json:"path,omitempty"`
	// Kind refines the code: missing_required, type_mismatch, invalid_value …
	Kind string `json:"kind,omitempty"`
	// Problems lists every fault that was found, the first one first.
	Problems []Problem `json:"problems,omitempty"`
	// Code is a hook's own code where errorCode is `aborted`.
	Code string `json:"code,omitempty"`
	// Cause is what ended a call whose outcome is unknown.
	Cause string `json:"cause,omitempty"`
	// Rule is the policy rule that decided.
	Rule string `json:"rule,omitempty"`
	// ApprovalID is the request that was denied, expired or went stale.
	ApprovalID string `json:"approvalId,omitempty"`
	// Stage is where the call ended.
	Stage string `json:"stage,omitempty"`
}

// Problem is one fault in the input.
type Problem struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Expected is what the schema wants there, and Got the JSON type that was sent:
	// never a value. Both are empty where that is not known.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
}

// Failure returns the unsuccessful half of a result: code, a safe message
// (empty takes the table's) and details.
func Failure(code Code, safeMessage string, details *Details) Result {
	info := InfoOf(code)
	if safeMessage == "" {
		safeMessage = info.Message
	}
	return Result{ErrorCode: info.Code, SafeMessage: safeMessage, Details: details, HTTPStatus: info.HTTP}
}
