package toolspec

import (
	"encoding/json"
	"slices"
)

// A tool may end its call in three other ways than with a value or an error, as
// hooks do (specification 000): Respond, Abort and RetryAfter. They are errors,
// so that they leave the function at once; return them as they are. Tools that
// come with Pawl do not use them: shaping a call is the matter of hooks.

// AbortError is a tool's word that the call is to stop.
type AbortError struct {
	// Reason is safe to show; Code is the tool's own and arrives as details.code.
	Reason, Code string
	// HTTPStatus is 400–599; 0 and others leave the table's.
	HTTPStatus int
}

// Abort ends the call with the code `aborted`, for any effect and without
// another attempt. The reason reaches the caller: at most 500 bytes, safe to
// show. code (at most 64 bytes) and httpStatus (400–599) may be empty.
func Abort(reason, code string, httpStatus int) error {
	return &AbortError{Reason: reason, Code: code, HTTPStatus: httpStatus}
}

// Error returns the safe text.
func (e *AbortError) Error() string { return "aborted: " + e.Reason }

// Response is a tool's answer in another form than its own value.
type Response struct {
	value     json.RawMessage
	challenge bool
}

// Respond answers with a value that is redacted and checked against the tool's
// schema like its own, but counts as responded and is never cached. A value that
// cannot be written as JSON is an OutputError.
func Respond(value any) error { return respond(value, false) }

// RespondChallenge answers with something that is no result of the tool, such as
// a consent challenge, at most MaxInline bytes: it is neither checked against
// the tool's schema or allowlist nor cached.
func RespondChallenge(value any) error { return respond(value, true) }

func respond(value any, challenge bool) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return &OutputError{cause: err}
	}
	return &Response{value: encoded, challenge: challenge}
}

// Error says that a response was mistaken for an error.
func (r *Response) Error() string { return "the tool responded" }

// Value returns what was answered.
func (r *Response) Value() json.RawMessage { return slices.Clone(r.value) }

// Challenge reports whether the answer is no result of the tool.
func (r *Response) Challenge() bool { return r.challenge }
