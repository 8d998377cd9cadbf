package app

import (
	"errors"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// Exit statuses for errors without a code of toolspec/code.go.
const (
	exitFailure      = 1
	exitUsage        = 2
	exitNotConfirmed = 3
	exitPending      = 4
)

// ErrPending is the error of a command that ends while its work goes on in Temporal, for example a turn with calls
// that have no result yet, or a run of an agent.
var ErrPending = errors.New("calls wait")

// Exit statuses of a command that has followed a run of an agent: the run has reached a limit, or it was interrupted
// or cancelled.
const (
	ExitOverBudget = 5
	ExitStopped    = 6
)

// usageError is an error in the command line.
type usageError struct{ error }

// Usage marks err as an error in the command line. cli.Main prints the usage of the command after
// such an error.
func Usage(err error) error { return usageError{err} }

// silentError is a failure that the command has already printed.
type silentError struct{ error }

// Silent marks err as already printed by the command. cli.Main does not print it again.
func Silent(err error) error { return &silentError{err} }

// Unwrap returns the failure.
func (e *silentError) Unwrap() error { return e.error }

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// WithStatus wraps err. A command that returns the wrapped error ends with the exit status.
func WithStatus(err error, status int) error { return &statusError{err, status} }

// Unwrap returns the error.
func (e *statusError) Unwrap() error { return e.error }

// IsUsage reports whether err is an error in the command line.
func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// IsSilent reports whether the command has already printed err.
func IsSilent(err error) bool {
	var silent *silentError
	return errors.As(err, &silent)
}

// ExitStatus returns the exit status of a command that ended with err, which is not nil.
func ExitStatus(err error) int {
	var call *client.CallError
	var own *statusError
	switch {
	case errors.As(err, &own):
		return own.status
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
