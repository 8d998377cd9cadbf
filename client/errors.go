package client

import (
	"errors"

	"github.com/pawl-run/pawl/toolspec"
)

// ErrSettled says that the call is over, or that there never was one: nobody can
// decide on it or stop it any more.
var ErrSettled = errors.New("the call is settled or unknown; its result stands")

// ErrNotConfirmed says that no worker answered in time. The decision may still
// apply: ask for the state before deciding again.
var ErrNotConfirmed = errors.New("not confirmed: no worker answered; the decision may still apply")

// ErrSpent says that a call has had all the updates and signals that Temporal lets one
// workflow have: nobody can decide on it any more. The request expires; cancel the
// call, or terminate its workflow.
var ErrSpent = errors.New("the call takes no more updates and signals; cancel it or wait until the request expires")

// CallError is a call that ended without a value.
type CallError struct{ Result toolspec.Result }

// Error is the code with the safe message.
func (e *CallError) Error() string { return string(e.Result.ErrorCode) + ": " + e.Result.SafeMessage }

// Code returns the code of the closed table.
func (e *CallError) Code() toolspec.Code { return e.Result.ErrorCode }

// Is makes errors.Is(err, client.Coded(toolspec.CodePolicyDenied)) work.
func (e *CallError) Is(target error) bool {
	coded, ok := target.(Coded)
	return ok && toolspec.Code(coded) == e.Result.ErrorCode
}

// Coded is a code as a target of errors.Is.
type Coded toolspec.Code

// Error is the code.
func (c Coded) Error() string { return string(c) }
