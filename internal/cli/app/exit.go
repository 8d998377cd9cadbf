package app

import (
	"errors"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// Exit statuses beside those of the code table.
const (
	exitFailure      = 1
	exitUsage        = 2
	exitNotConfirmed = 3
	exitPending      = 4
)

// ErrPending ends a turn whose calls have no results yet.
var ErrPending = errors.New("calls wait")

// usageError is a command line that does not parse.
type usageError struct{ error }

// Usage makes an error of one about the command line: cli.Main shows how to use the
// command.
func Usage(err error) error { return usageError{err} }

// silentError is a failure that the command has already shown.
type silentError struct{ error }

// Silent makes an error that cli.Main does not show: the command has.
func Silent(err error) error { return &silentError{err} }

// Unwrap returns what failed.
func (e *silentError) Unwrap() error { return e.error }

// IsUsage reports whether err is one of the command line.
func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// IsSilent reports whether the command has shown err.
func IsSilent(err error) bool {
	var silent *silentError
	return errors.As(err, &silent)
}

// ExitStatus returns the exit status of a command that ended with err.
func ExitStatus(err error) int {
	var call *client.CallError
	switch {
	case IsUsage(err):
		return exitUsage
	case errors.As(err, &call):
		return toolspec.InfoOf(call.Code()).Exit
	case errors.Is(err, client.ErrNotConfirmed):
		return exitNotConfirmed
	case errors.Is(err, ErrPending):
		return exitPending
	}
	return exitFailure
}
