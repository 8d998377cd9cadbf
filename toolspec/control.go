package toolspec

import (
	"encoding/json"
	"slices"
)

// A tool may return the error of Respond, Abort or RetryAfter, as hooks do (specification 000).
// They return errors, so that the function of the tool ends at once; return these errors unchanged.
// The tools that come with Pawl do not use them, because shaping a call is the task of hooks.

// AbortError says that the call must stop.
type AbortError struct {
	// Reason is safe to show; Code is a code that the tool chooses; the result has it as details.code.
	Reason, Code string
	// HTTPStatus is 400–599. For any other number, the result has the status of `aborted` in the table
	// of codes.
	HTTPStatus int
}

// Abort ends the call with the code `aborted`, for any effect and without
// another attempt. The reason reaches the caller: at most 500 bytes, safe to
// show. code (at most 64 bytes) and httpStatus (400–599) may be empty. A reason or
// code with the shape of a secret is left out.
func Abort(reason, code string, httpStatus int) error {
	return &AbortError{Reason: reason, Code: code, HTTPStatus: httpStatus}
}

// Error returns the safe text.
func (e *AbortError) Error() string { return "aborted: " + e.Reason }

// Response is the answer of a tool that calls Respond or RespondChallenge.
type Response struct {
	value     json.RawMessage
	challenge bool
}

// Respond answers with a value. Pawl redacts the value and checks it against the schema of the
// tool, as the value of the function. The source of the value is responded, and it is never cached.
// A value that cannot be written as JSON is an OutputError.
func Respond(value any) error { return respond(value, false) }

// RespondChallenge answers with a challenge, such as a request for consent, of at most MaxInline
// bytes. It is neither checked against the tool's schema or allowlist nor cached.
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

// Value returns the value of the response.
func (r *Response) Value() json.RawMessage { return slices.Clone(r.value) }

// Challenge reports whether the value is a challenge.
func (r *Response) Challenge() bool { return r.challenge }
