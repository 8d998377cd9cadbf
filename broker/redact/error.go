package redact

import (
	"errors"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// Error returns err with a text that holds none of the secrets; nil stays nil, and
// an error whose text holds none stays itself. What it was can be asked by
// errors.Is and errors.As; what it said, and what it wraps, cannot be printed any
// more, by whatever verb.
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

// shows says that a verb of fmt shows a secret: %+v and %#v look behind Error.
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

// safeError has no Unwrap: whoever prints a chain would print what was taken out.
type safeError struct {
	text string
	was  error
}

// Error is the text without secrets.
func (e *safeError) Error() string { return e.text }

// Is answers for the error that it was.
func (e *safeError) Is(target error) bool { return errors.Is(e.was, target) }

// As answers for the error that it was.
func (e *safeError) As(target any) bool { return errors.As(e.was, target) }

// Format prints the text, by whatever verb.
func (e *safeError) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.text) }

// textOf is what an error says; one that panics says nothing.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fingerprint.Redacted
		}
	}()
	return err.Error()
}

// sprint is fmt.Sprintf for values of others: one that panics is shown by fmt
// itself, with what it panicked with.
func sprint(format string, v any) string { return fmt.Sprintf(format, v) }
