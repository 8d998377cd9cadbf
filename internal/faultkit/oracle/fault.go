package oracle

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// FaultKind is a way in which something was broken.
type FaultKind string

// Faults of a worker, which hit all of its calls.
const (
	// Kill is SIGKILL of a worker.
	Kill FaultKind = "kill"
	// Term is SIGTERM of a worker, until it has ended.
	Term FaultKind = "term"
	// Stop is SIGSTOP of a worker, until SIGCONT.
	Stop FaultKind = "stop"
	// Crash is a worker that ended by itself, which nobody planned.
	Crash FaultKind = "crash"
)

// Faults of a server, which hit all calls.
const (
	// Postgres is a crash of the database, until it answers again.
	Postgres FaultKind = "postgres"
	// PostgresFreeze is SIGSTOP of the database, until SIGCONT.
	PostgresFreeze FaultKind = "postgres-freeze"
	// Lock is a lock on the table of claims that keeps all writes away.
	Lock FaultKind = "lock"
	// Temporal is SIGKILL of the Temporal server, until it answers again.
	Temporal FaultKind = "temporal"
	// TemporalFreeze is SIGSTOP of the Temporal server, until SIGCONT.
	TemporalFreeze FaultKind = "temporal-freeze"
	// Stall is a Temporal server that takes seconds to write, which nobody planned:
	// the machine is too busy.
	Stall FaultKind = "stall"
)

// Faults of one call, which somebody with access to the namespace can cause.
const (
	// ResetFirst resets the workflow to its first completed task, ahead of admit.
	ResetFirst FaultKind = "reset-first"
	// ResetLast resets it to the last completed task.
	ResetLast FaultKind = "reset-last"
	// ResetAny resets it to any completed task.
	ResetAny FaultKind = "reset-any"
	// Restart terminates the workflow and starts another run of the same call.
	Restart FaultKind = "restart"
	// Terminate terminates the workflow.
	Terminate FaultKind = "terminate"
	// Delete deletes the workflow with its history.
	Delete FaultKind = "delete"
	// Cancel cancels the workflow.
	Cancel FaultKind = "cancel"
	// Pause pauses the running activity and lets it go on later.
	Pause FaultKind = "pause"
	// ActivityReset resets the running activity.
	ActivityReset FaultKind = "activity-reset"
	// MadeUpOK answers the running activity with a value that no tool gave.
	MadeUpOK FaultKind = "made-up-ok"
	// MadeUpUndispatched answers it with the word that the tool was not run.
	MadeUpUndispatched FaultKind = "made-up-undispatched"
	// MadeUpNothing answers it with a failure that says that nothing happened.
	MadeUpNothing FaultKind = "made-up-nothing"
	// MadeUpFailure fails it.
	MadeUpFailure FaultKind = "made-up-failure"
	// Garbage sends signals that mean nothing.
	Garbage FaultKind = "garbage"
	// Late holds up a step at a point; its caller may give up meanwhile.
	Late FaultKind = "late"
)

// MadeUp stands in every value and message that somebody made up.
const MadeUp = "made up by nobody's tool"

// Fault is something that was broken from one time to another.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// PID is the worker that was hit, 0 for all.
	PID int `json:"pid,omitempty"`
	// Call is the toolCallId of the call that was hit, empty for all.
	Call string `json:"call,omitempty"`
	// At is where the calls stood, empty where nobody looked.
	At   point.Name `json:"at,omitempty"`
	From time.Time  `json:"from"`
	To   time.Time  `json:"to"`
}

// aimed reports whether a fault of one of the kinds was aimed at the call.
func (v *view) aimed(c *Call, kinds ...FaultKind) bool {
	return slices.ContainsFunc(v.at[c.ToolCallID], func(f Fault) bool { return slices.Contains(kinds, f.Kind) })
}

// ended reports whether somebody ended the call before it could end by itself. A
// restart does where the sweeper comes between its two steps.
func (v *view) ended(c *Call) bool { return v.aimed(c, Cancel, Terminate, Delete, Restart) }

// rerun reports whether somebody had the call run again from some place on.
func (v *view) rerun(c *Call) bool {
	return v.aimed(c, ResetFirst, ResetLast, ResetAny, Restart, Delete)
}
