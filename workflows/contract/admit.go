package contract

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// AdmitIn is the input of Admit, which finds or creates the record of a call.
type AdmitIn struct {
	// Input is the undecoded input of the workflow, and Encoding the encoding that its metadata names.
	Input    []byte `json:"input"`
	Encoding string `json:"encoding,omitempty"`
	// WorkflowID must equal the id that Admit derives from the identity of the call.
	WorkflowID       string `json:"workflowId"`
	RunID            string `json:"runId"`
	Namespace        string `json:"namespace,omitempty"`
	NowMs            int64  `json:"nowMs"`
	SearchAttributes bool   `json:"searchAttributes,omitempty"`
}

// AdmitOut describes the record of a call. Outcome is Done, AlreadySettled, Refused or NotHere.
// NotHere means that this worker does not support the version of the recorded plan. If Outcome is
// Refused and Recorded is false, the call has no record: the workflow completes without the
// activity Settle.
type AdmitOut struct {
	Outcome      Outcome          `json:"outcome"`
	Recorded     bool             `json:"recorded,omitempty"`
	Result       *toolspec.Result `json:"result,omitempty"`
	Failure      *hook.Failure    `json:"failure,omitempty"`
	InvocationID string           `json:"invocationId,omitempty"`
	InputDigest  string           `json:"inputDigest,omitempty"`
	ToolID       string           `json:"toolId,omitempty"`
	ToolCallID   string           `json:"toolCallId,omitempty"`
	Context      toolspec.Context `json:"context,omitzero"`
	Submitter    *hook.Submitter  `json:"submitter,omitempty"`
	Epoch        int              `json:"epoch,omitempty"`
	Rounds       Rounds           `json:"rounds,omitzero"`
	Plan         *hook.Plan       `json:"plan,omitempty"`
	PolicyDigest string           `json:"policyDigest,omitempty"`
	// Watched says that somebody watches the events of the run. One SQL statement reads the record, Watched, Kills and
	// Connection.
	Watched bool `json:"watched,omitempty"`
	// Kills are the kill switches that apply to the call.
	Kills []hook.Kill `json:"kills,omitempty"`
	// Connection is the state of the call's connection. It is nil if the call names no connection.
	Connection *hook.Connection `json:"connection,omitempty"`
	// ConnectionHash is written to the search attributes instead of the connection id.
	ConnectionHash string `json:"connectionHash,omitempty"`
	// Provenance is set if the call has a record and fails because no worker has its tool. Settle writes it to
	// the record.
	Provenance *toolspec.Provenance `json:"provenance,omitempty"`
	// By names the missing part if Outcome is NotHere.
	By         string `json:"by,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// Rounds holds the last number that a call has used of each of four counters. A Temporal run that takes over
// the call continues from these numbers.
type Rounds struct {
	// Gate counts the runs of the gate stages.
	Gate int `json:"gate,omitempty"`
	// Dispatch counts claims and tombstones.
	Dispatch int `json:"dispatch,omitempty"`
	// Request counts the approval requests.
	Request int `json:"request,omitempty"`
	// Capacity counts the runs of the stages that may wait for capacity.
	Capacity int `json:"capacity,omitempty"`
}

// After returns the higher number of r and own for each counter.
func (r Rounds) After(own Rounds) Rounds {
	return Rounds{
		Gate: max(r.Gate, own.Gate), Dispatch: max(r.Dispatch, own.Dispatch), Request: max(r.Request, own.Request),
		Capacity: max(r.Capacity, own.Capacity),
	}
}
