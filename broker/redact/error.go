package redact

import (
	"errors"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// Error returns err with a text that holds none of the secrets. It returns nil for nil, and err
// itself if no formatting verb shows a secret of it. errors.Is and errors.As still match the
// original error, but no formatting verb prints its text or the errors that it wraps.
func Error(err error, secrets *fingerprint.Set) error {
	if err == nil {
		return nil
	}
	text := textOf(err)
	clean := secrets.Redact(text)
	if holds(err) {
		clean = fingerprint.Redacted
	}
	if clean == text && !shows(err, secrets) {
		return err
	}
	return &safeError{text: clean, was: err}
}

// shows reports whether fmt prints a secret of the error: %+v and %#v can print more than the text
// of Error.
func shows(err error, secrets *fingerprint.Set) bool {
	if secrets == nil || secrets.Len() == 0 {
		return false
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if len(secrets.FindString(sprint("%+v", e))) > 0 || len(secrets.FindString(sprint("%#v", e))) > 0 {
			return true
		}
	}
	return false
}

// safeError has no Unwrap: code that prints an error chain would print the removed secrets.
type safeError struct {
	text string
	was  error
}

// Error is the text without secrets.
func (e *safeError) Error() string { return e.text }

// Is reports whether the original error matches target.
func (e *safeError) Is(target error) bool { return errors.Is(e.was, target) }

// As finds target in the original error.
func (e *safeError) As(target any) bool { return errors.As(e.was, target) }

// Format prints the redacted text for every verb.
func (e *safeError) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.text) }

// textOf returns the text of an error, or a fixed text if its Error method panics.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fingerprint.Redacted
		}
	}()
	return err.Error()
}

// sprint is fmt.Sprintf for a value of any type. If a method of the value panics, fmt writes the
// panic into the text.
func sprint(format string, v any) string { return fmt.Sprintf(format, v) }
