package toolspec

import (
	"errors"
	"fmt"
	"time"
)

// SafeError is an error of a tool whose text may be shown to anyone. It must hold no argument, no
// output and no secret. It is final: Pawl makes no other attempt, because the tool has answered and
// would answer the same again.
type SafeError struct {
	text  string
	cause error
}

// Safef makes a SafeError. A %w verb keeps its cause for errors.Is; the text of
// the cause becomes part of the message, so wrap only what is safe to show.
func Safef(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &SafeError{text: err.Error(), cause: errors.Unwrap(err)}
}

// Error returns the safe text.
func (e *SafeError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *SafeError) Unwrap() error { return e.cause }

// UnansweredError says that the tool does not know whether the call had its effect.
type UnansweredError struct {
	// Reason is safe to show.
	Reason string
}

// Unanswered says that the tool has asked a service for the effect and got no answer that tells whether it
// happened, such as a connection that broke after the request. A tool that may be repeated gets another
// attempt. For every other tool Pawl asks its probe, or a person, or the call ends with outcome_unknown.
func Unanswered(reason string) error { return &UnansweredError{Reason: reason} }

// Error returns the safe text.
func (e *UnansweredError) Error() string { return e.Reason }

// BusyError says that nothing happened, and that Pawl may make another attempt after a pause.
type BusyError struct {
	After time.Duration
	// Reason is safe to show.
	Reason string
}

// RetryAfter asserts that nothing happened and allows another attempt, for any
// effect, within the allowed number of attempts.
func RetryAfter(after time.Duration, reason string) error {
	return &BusyError{After: after, Reason: reason}
}

// Error returns the safe text.
func (e *BusyError) Error() string { return "retry after " + e.After.String() + ": " + e.Reason }
