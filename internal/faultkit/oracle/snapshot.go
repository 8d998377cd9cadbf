package oracle

import (
	"encoding/json"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

// Snapshot is the state of all calls after a run.
type Snapshot struct {
	Calls   []Call
	Effects []ledger.Effect
	Faults  []Fault
}

// Call is one call: its submitter's data, its answers, and its state on the servers.
type Call struct {
	ToolCallID   string
	InvocationID string
	WorkflowID   string
	ToolID       string
	// Repeatable reports that the tool may have its effect more than once.
	Repeatable bool
	// ArgsDigest is the digest that an effect must have.
	ArgsDigest string
	// ApprovalDigest is the digest that an approval of this call must have; empty if the call needs
	// no approval.
	ApprovalDigest string
	// Accepted reports that Temporal accepted the start.
	Accepted bool
	// Value is the value that the tool returns.
	Value json.RawMessage
	// Output is the value that the record stores under the outputRef of the result, if the value is
	// too large for the result.
	Output json.RawMessage
	// Undecided reports that the call needs an approval for which no decision was planned, so the call must wait.
	Undecided bool
	// Decisions are the decisions that were sent.
	Decisions []Decision
	// Answers are the answers to submitters with the arguments of the call, Rivals the answers to
	// submitters with other arguments.
	Answers, Rivals []Answer
	Workflow        Workflow
	// Record is nil if Postgres has no row of the call.
	Record *reads.Detail
}

// Decision is a decision that was sent to a call.
type Decision struct {
	Verb     toolspec.Verb
	Approver string
	// Answer is nil if the sender got no answer. A signal never has an answer.
	Answer *toolspec.Answer
}

// Answer is the answer to a submitter.
type Answer struct {
	Result toolspec.Result
	// Err is set if there is no result, because the workflow did not complete.
	Err string
}

// Workflow is the state of a workflow in Temporal. The zero value means that there is no workflow.
type Workflow struct {
	Status enumspb.WorkflowExecutionStatus
	// Events is the length of the history.
	Events int64
	// Result is nil unless the workflow completed.
	Result         *toolspec.Result
	Started, Ended time.Time
}
