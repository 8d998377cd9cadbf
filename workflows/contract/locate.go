package contract

import "github.com/pawl-run/pawl/toolspec"

// LocateIn is the input of Locate, which finds the workers that have a tool. The worker that runs it lacks
// the tool.
type LocateIn struct {
	ToolID    string `json:"toolId"`
	Namespace string `json:"namespace"`
	// TaskQueue is the task queue that the call is on.
	TaskQueue string `json:"taskQueue"`
}

// LocateOut is the answer of Locate.
type LocateOut struct {
	// TaskQueue is the task queue of Pawl on which running workers have the tool. It is empty if the call
	// should wait where it is: a running worker of its own task queue has the tool, or no running worker.
	TaskQueue  string `json:"taskQueue,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// Moved is what a call takes along when it moves to another task queue. It is the second argument of the
// run that continues the call, and anybody who can start workflows can write it. So no field gives a call
// more than it has without the field.
type Moved struct {
	// StartedAtMs is when the call began. A time after the start of the run does not count, and a time
	// more than 366 days before it counts as 366 days.
	StartedAtMs int64 `json:"startedAtMs"`
	// WaitedMs is the time since then that the deadline does not count. It is at most the time since
	// StartedAtMs.
	WaitedMs int64 `json:"waitedMs,omitempty"`
	// Moves counts the moves of the call.
	Moves int `json:"moves"`
	// Decisions are the decisions that the previous run had received and that may still count. The call
	// treats them as signals.
	Decisions []toolspec.Decision `json:"decisions,omitempty"`
}
