package client

import (
	"errors"

	"github.com/pawl-run/pawl/toolspec"
)

// ErrNotFound says that there is no such call, approval request or output: Temporal has no workflow
// of a call under this id, or the record of the tenant has no such row. Temporal deletes settled
// calls after its retention time; the record keeps them longer (Client.Call).
var ErrNotFound = errors.New("not found")

// ErrSettled says that the call is settled. Its result cannot change: decisions do not count any
// more, and the call cannot be stopped.
var ErrSettled = errors.New("the call is settled; its result cannot change")

// ErrOtherRun says that the id of a run is in use: a run of an agent with another input has it, or a workflow that
// is no run of an agent.
var ErrOtherRun = errors.New("another run, or a workflow that is no run, has the id of this run: give each run an id of its own")

// ErrNotConfirmed says that no worker answered in time. The decision may still count: ask for the
// state, or send the same decision again, which counts once.
var ErrNotConfirmed = errors.New("not confirmed: no worker answered; the decision may still apply")

// ErrSpent says that a call has received all the updates and signals that Temporal allows a
// workflow, so nobody can decide on it any more. Wait until the request expires, cancel the call,
// or terminate its workflow.
var ErrSpent = errors.New("the call takes no more updates and signals; cancel it or wait until the request expires")

// ErrNoOutputs is the error of Client.Output for a client without Options.Outputs, and of Client.OutputInfo and
// Client.OpenOutput for a client without Options.OutputReader.
var ErrNoOutputs = errors.New("this client has no reader of outputs: set Options.Outputs")

// ErrNoCatalogs is the error of Client.Catalog, Client.PickTools and Client.Offer for a client
// without Options.Catalogs.
var ErrNoCatalogs = errors.New("this client has no reader of catalogs: set Options.Catalogs")

// ErrNoRecords is the error of Client.Calls, Client.Call and Client.Approvals for a client without
// Options.Records, and of Client.AgentRuns and Client.AgentRun for a client without Options.AgentRecords.
var ErrNoRecords = errors.New("this client has no reader of the record: set Options.Records and Options.AgentRecords")

// ErrNoRuns is the error of Client.Watch, Client.Append and Client.Run for a client without
// Options.Runs.
var ErrNoRuns = errors.New("this client has no reader of runs: set Options.Runs")

// CallError is the error of a call that ended without a value, or that was refused.
type CallError struct {
	// Result has the code, the safe message and the toolCallId. It has an InvocationID if the
	// call may have a record.
	Result toolspec.Result
	cause  error
}

// Error returns the code with the safe message.
func (e *CallError) Error() string { return string(e.Result.ErrorCode) + ": " + e.Result.SafeMessage }

// Code returns the code of the result.
func (e *CallError) Code() toolspec.Code { return e.Result.ErrorCode }

// Unwrap returns the error of Temporal if the workflow of the call closed without a result, and nil
// otherwise.
func (e *CallError) Unwrap() error { return e.cause }

// Is makes errors.Is(err, client.Coded(toolspec.CodePolicyDenied)) work.
func (e *CallError) Is(target error) bool {
	coded, ok := target.(Coded)
	return ok && toolspec.Code(coded) == e.Result.ErrorCode
}

// Code returns the code of the CallError in err's tree. It returns "" for nil and for an error that
// is no result of a call, such as ErrNoAnswer.
func Code(err error) toolspec.Code {
	var failed *CallError
	if errors.As(err, &failed) {
		return failed.Result.ErrorCode
	}
	return ""
}

// Coded is a code as a target of errors.Is.
type Coded toolspec.Code

// Error is the code.
func (c Coded) Error() string { return string(c) }
