package oracle

import (
	"encoding/json"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

// Snapshot is everything that is known once nothing moves any more.
type Snapshot struct {
	Calls   []Call
	Effects []ledger.Effect
	Faults  []Fault
}

// Call is one call as its submitter knows it, and what the servers say of it.
type Call struct {
	ToolCallID   string
	InvocationID string
	WorkflowID   string
	ToolID       string
	// Repeatable says that the tool may have its effect more than once.
	Repeatable bool
	// ArgsDigest is what the ledger shows for the arguments as submitted.
	ArgsDigest string
	// ApprovalDigest is what an approval of exactly this call is bound to;
	// empty where nobody is asked.
	ApprovalDigest string
	// Accepted says that Temporal took the start.
	Accepted bool
	// Value is what its tool answers.
	Value json.RawMessage
	// Output is what the record keeps under the reference of the result, where the
	// value is too large to stand in it.
	Output json.RawMessage
	// Undecided says that nobody ever decided, so that the call is to wait.
	Undecided bool
	// Decisions are those that were sent.
	Decisions []Decision
	// Answers are what submitters with these arguments were told, and Rivals
	// what those were told who used the id for other arguments.
	Answers, Rivals []Answer
	Workflow        Workflow
	// Record is nil where Postgres has none.
	Record *reads.Detail
}

// Decision is one that was sent to a call.
type Decision struct {
	Verb     toolspec.Verb
	Approver string
	// Answer is nil where the sender was told nothing: a signal has no answer.
	Answer *toolspec.Answer
}

// Answer is what a submitter was told.
type Answer struct {
	Result toolspec.Result
	// Err is set where there was no result: the workflow did not complete.
	Err string
}

// Workflow is what Temporal says of a call. The zero value: there is none.
type Workflow struct {
	Status enumspb.WorkflowExecutionStatus
	// Events is the length of the history.
	Events int64
	// Result is nil unless the workflow completed.
	Result         *toolspec.Result
	Started, Ended time.Time
}
