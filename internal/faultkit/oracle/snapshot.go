package oracle

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/postgres"
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
	// Undecided says that nobody ever decided, so that the call is to wait.
	Undecided bool
	// Decisions are those that were sent.
	Decisions []Decision
	// Answers are what submitters with these arguments were told, and Rivals
	// what those were told who used the id for other arguments.
	Answers, Rivals []Answer
	Workflow        Workflow
	// Record is nil where Postgres has none.
	Record *postgres.Detail
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

// FaultKind is a way in which something was broken.
type FaultKind string

// The faults.
const (
	// Kill is SIGKILL of a worker.
	Kill FaultKind = "kill"
	// Term is SIGTERM of a worker, until it has ended.
	Term FaultKind = "term"
	// Stop is SIGSTOP of a worker, until SIGCONT.
	Stop FaultKind = "stop"
	// Postgres is a crash of the database, until it answers again.
	Postgres FaultKind = "postgres"
	// Temporal is SIGKILL of the Temporal server, until it answers again.
	Temporal FaultKind = "temporal"
	// Stall is a Temporal server that takes seconds to write, which nobody planned:
	// the machine is too busy.
	Stall FaultKind = "stall"
	// Crash is a worker that ended by itself, which nobody planned.
	Crash FaultKind = "crash"
)

// Fault is something that was broken from one time to another.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// PID is the worker that was hit, 0 for a server.
	PID  int       `json:"pid,omitempty"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}
