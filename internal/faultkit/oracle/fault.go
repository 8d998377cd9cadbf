package oracle

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// FaultKind is a kind of fault.
type FaultKind string

// Faults of a worker. They hit all calls of the worker.
const (
	// Kill is SIGKILL of a worker.
	Kill FaultKind = "kill"
	// Term is SIGTERM of a worker, until it has ended.
	Term FaultKind = "term"
	// Stop is SIGSTOP of a worker, until SIGCONT.
	Stop FaultKind = "stop"
	// Crash is a worker that ended without a planned fault.
	Crash FaultKind = "crash"
)

// Faults of a server. They hit all calls.
const (
	// Postgres is a crash of the database, until it answers again.
	Postgres FaultKind = "postgres"
	// PostgresFreeze is SIGSTOP of the database, until SIGCONT.
	PostgresFreeze FaultKind = "postgres-freeze"
	// Lock is a lock on the table of claims that blocks all writes.
	Lock FaultKind = "lock"
	// Temporal is SIGKILL of the Temporal server, until it answers again.
	Temporal FaultKind = "temporal"
	// TemporalFreeze is SIGSTOP of the Temporal server, until SIGCONT.
	TemporalFreeze FaultKind = "temporal-freeze"
	// Stall is an unplanned stall of the Temporal server: a write takes seconds because the machine
	// is too busy.
	Stall FaultKind = "stall"
)

// Faults of one call. Anyone with access to the namespace can cause them.
const (
	// ResetFirst resets the workflow to its first completed task, before admit.
	ResetFirst FaultKind = "reset-first"
	// ResetLast resets the workflow to its last completed task.
	ResetLast FaultKind = "reset-last"
	// ResetAny resets the workflow to any completed task.
	ResetAny FaultKind = "reset-any"
	// Restart terminates the workflow and starts another run of the same call.
	Restart FaultKind = "restart"
	// Terminate terminates the workflow.
	Terminate FaultKind = "terminate"
	// Delete deletes the workflow with its history.
	Delete FaultKind = "delete"
	// Cancel cancels the workflow.
	Cancel FaultKind = "cancel"
	// Pause pauses the running activity and unpauses it later.
	Pause FaultKind = "pause"
	// ActivityReset resets the running activity.
	ActivityReset FaultKind = "activity-reset"
	// MadeUpOK completes the running activity with a value that no tool returned.
	MadeUpOK FaultKind = "made-up-ok"
	// MadeUpUndispatched completes the running activity with the answer that the tool was not run.
	MadeUpUndispatched FaultKind = "made-up-undispatched"
	// MadeUpNothing completes the running activity with a failure that says that nothing happened.
	MadeUpNothing FaultKind = "made-up-nothing"
	// MadeUpFailure fails the running activity.
	MadeUpFailure FaultKind = "made-up-failure"
	// Garbage sends signals that do not decode.
	Garbage FaultKind = "garbage"
	// Late holds up a step at a point. The caller of the step may give up meanwhile.
	Late FaultKind = "late"
)

// MadeUp marks every forged value and message.
const MadeUp = "made up by nobody's tool"

// Fault is a fault with the time from its start to its end.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// PID is the process id of the worker that was hit, 0 for all workers.
	PID int `json:"pid,omitempty"`
	// Call is the toolCallId of the call that was hit, empty for all calls.
	Call string `json:"call,omitempty"`
	// At is the point that the calls had reached, empty if it is not known.
	At   point.Name `json:"at,omitempty"`
	From time.Time  `json:"from"`
	To   time.Time  `json:"to"`
}

// aimed reports whether a fault of one of the kinds was aimed at the call.
func (v *view) aimed(c *Call, kinds ...FaultKind) bool {
	return slices.ContainsFunc(v.at[c.ToolCallID], func(f Fault) bool { return slices.Contains(kinds, f.Kind) })
}

// ended reports whether a fault ended the call before its own end. Restart counts, because the
// sweeper may settle the call between the two steps of a restart.
func (v *view) ended(c *Call) bool { return v.aimed(c, Cancel, Terminate, Delete, Restart) }

// rerun reports whether a fault made the call run again from an earlier point.
func (v *view) rerun(c *Call) bool {
	return v.aimed(c, ResetFirst, ResetLast, ResetAny, Restart, Delete)
}
