package errs

import (
	"errors"
	"fmt"
	"strings"
)

// transient is an error that may not occur in another try.
type transient struct{ cause error }

// Transient marks an error that may not occur in another try: the failed work is tried again. At a
// closed stage, every other error of a hook ends the call with `internal`.
func Transient(err error) error { return &transient{cause: err} }

// Error implements error with the text of the cause.
func (t *transient) Error() string { return t.cause.Error() }

// Unwrap returns the cause.
func (t *transient) Unwrap() error { return t.cause }

// IsTransient reports whether err, or an error that it wraps, is marked by Transient.
func IsTransient(err error) bool {
	var t *transient
	return errors.As(err, &t)
}

// Reasoner is an error that has a text safe for logs.
type Reasoner interface{ LogReason() string }

// Reason returns the part of an error that may be logged: the text of a Reasoner, otherwise the
// type of the error, or of the cause of a transient error.
func Reason(err error) string {
	var r Reasoner
	if errors.As(err, &r) {
		return r.LogReason()
	}
	var t *transient
	if errors.As(err, &t) {
		return fmt.Sprintf("%T", t.cause)
	}
	return fmt.Sprintf("%T", err)
}

// maxFrames bounds the places that Frames keeps.
const maxFrames = 12

// Frames returns the file names and line numbers of a stack trace, at most maxFrames, the innermost
// first. It leaves out all other text of the trace, which may hold values of the program.
func Frames(stack []byte) string {
	var places []string
	for line := range strings.Lines(string(stack)) {
		if place, ok := strings.CutPrefix(line, "\t"); ok {
			places = append(places, strings.TrimSpace(place))
		}
	}
	return strings.Join(places[:min(len(places), maxFrames)], " < ")
}
