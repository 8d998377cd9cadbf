package contract

import "github.com/pawl-run/pawl/toolspec"

// LocateIn is the input of Locate, which finds the task queue of the workers that have a tool, for a worker
// that lacks the tool.
type LocateIn struct {
	ToolID    string `json:"toolId"`
	Namespace string `json:"namespace"`
	// TaskQueue is the task queue that the call is on.
	TaskQueue string `json:"taskQueue"`
}

// LocateOut is the answer of Locate.
type LocateOut struct {
	// TaskQueue is the task queue of Pawl on which running workers have the tool. It is empty if the call
	// should wait on its own task queue: a running worker there has the tool, or no running worker has the tool.
	TaskQueue  string `json:"taskQueue,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// Moved is the data that a call passes to its next run when it moves to another task queue. It is the second
// argument of that run. Anybody who can start workflows can write it, so no field gives a call more time or
// rights than a new call has.
type Moved struct {
	// StartedAtMs is the time at which the call began, in milliseconds since 1970-01-01 UTC. The next run
	// ignores a time after its own start. A time more than 366 days before its start counts as 366 days.
	StartedAtMs int64 `json:"startedAtMs"`
	// WaitedMs is how much of the time since StartedAtMs the deadline does not count, because the call waited for
	// a person. The next run does not accept more than the whole time since StartedAtMs.
	WaitedMs int64 `json:"waitedMs,omitempty"`
	// Moves counts the moves of the call.
	Moves int `json:"moves"`
	// Decisions are the decisions that the previous run had received and that may still count. The call
	// treats them as signals.
	Decisions []toolspec.Decision `json:"decisions,omitempty"`
}
