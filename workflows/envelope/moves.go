package envelope

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// changeMove is the id for workflow.GetVersion of this change: if only workers on another task queue have the
	// tool, the call moves there. A call with an older history waits.
	changeMove = "move"
	// freeMoves is the number of moves without a pause. Before each further move the call waits: two task queues
	// whose workers both lack the tool could otherwise send the call to each other in a busy loop.
	freeMoves = 2
	// maxMoves bounds the moves of a call.
	maxMoves = 32
	// maxAge bounds the time between the start of a moved call and the start of its current run. It limits the
	// effect of a forged contract.Moved.
	maxAge = 366 * 24 * time.Hour
	// locateTime bounds one search for a task queue. If a search takes longer, the call waits and searches again.
	locateTime = 10 * time.Second
)

// moves has the state of the moves of a call between task queues.
type moves struct {
	// made counts the moves that brought the call to this run.
	made int
	// paused says that this run has waited before its own move.
	paused bool
	// to is the task queue that the call moves to now; empty while it stays.
	to string
	// attemptRuns says that an attempt may run now, so the call must not move: see StayForAttempt.
	attemptRuns bool
	// stays says that the call must not move any more: its tool may have run, or the call ends.
	stays bool
	// unjudged says that the gate could not judge the call during its wait for an approval, because no worker
	// has a part that the gate needs, such as the tool or a hook: see TakeUnjudged.
	unjudged bool
}

// Stay keeps the call on this task queue from now on. The caller calls it once the tool may have run, or once the
// call ends: after a move, the next run would not know the attempts of this run, or could end the call in another way.
func (c *Call) Stay() { c.moves.stays, c.moves.to = true, "" }

// StayForAttempt keeps the call on this task queue while an attempt runs: until the caller calls end.
func (c *Call) StayForAttempt() (end func()) {
	c.moves.attemptRuns = true
	return func() { c.moves.attemptRuns = false }
}

// MovesTo returns the task queue to which the call moves now, or an empty string.
func (c *Call) MovesTo() string { return c.moves.to }

// Moved returns the data that the call passes to its next run. decisions are the decisions that may still count.
func (c *Call) Moved(decisions []toolspec.Decision) contract.Moved {
	return contract.Moved{
		StartedAtMs: c.callStartedAt.UnixMilli(), WaitedMs: c.waited.Milliseconds(), Moves: c.moves.made + 1, Decisions: decisions,
	}
}

// adoptMoved takes over the data that the previous run passed on: raw is the JSON of a contract.Moved. It ignores
// raw if this run does not continue another run, or if raw does not decode.
func (c *Call) adoptMoved(ctx workflow.Context, raw converter.RawValue) (m contract.Moved) {
	data := raw.Payload().GetData()
	if len(data) == 0 || workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		return contract.Moved{}
	}
	err := json.Unmarshal(data, &m) //workflowcheck:ignore
	if err != nil {
		return contract.Moved{}
	}
	c.moves.made = min(max(m.Moves, 0), maxMoves)
	if from := time.UnixMilli(m.StartedAtMs).UTC(); m.StartedAtMs > 0 && from.Before(c.runStartedAt) {
		if earliest := c.runStartedAt.Add(-maxAge); from.Before(earliest) {
			from = earliest
		}
		c.callStartedAt = from
		// The bounds apply before the multiplication, because the product of a forged WaitedMs could overflow.
		c.waited = time.Duration(min(max(m.WaitedMs, 0), c.runStartedAt.Sub(from).Milliseconds())) * time.Millisecond
	}
	return m
}

// WaitForPart waits for a worker that has the part that by names, such as a tool or a hook, as WaitForWorker does. If
// only workers on another task queue have the tool of the call, WaitForPart does not wait: MovesTo then returns that
// task queue, and the failure that WaitForPart returns ends the work of this run.
//
// While the call waits for an approval, the deadline does not count this wait, so the wait has another end: it fails
// once delay has reached steps.MissingDelayMax. See TakeUnjudged.
func (c *Call) WaitForPart(ctx workflow.Context, delay *time.Duration, by string) *hook.Failure {
	lacking := MissingMessage(by)
	if c.moves.attemptRuns || ctx.Err() != nil || workflow.GetVersion(ctx, changeMove, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return c.WaitForWorker(ctx, delay, lacking)
	}
	isAsking := c.Status() == toolspec.StatusWaitingApproval
	if isAsking {
		c.PauseDeadline(ctx)
		defer c.ResumeDeadline(ctx)
	}
	if c.mayMove() {
		if f := c.pauseBeforeMove(ctx, lacking); f != nil {
			return c.recordUnjudged(isAsking, f)
		}
		if c.moves.to = c.locate(ctx); c.moves.to != "" {
			return &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking}
		}
	}
	if isAsking && *delay >= steps.MissingDelayMax {
		return c.recordUnjudged(isAsking, &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking})
	}
	return c.recordUnjudged(isAsking, c.WaitForWorker(ctx, delay, lacking))
}

// recordUnjudged marks the call as unjudged if it waits for an approval and found no worker that can judge it. f is
// the failure of the wait for a worker, or nil; recordUnjudged returns f.
func (c *Call) recordUnjudged(isAsking bool, f *hook.Failure) *hook.Failure {
	c.moves.unjudged = isAsking && f != nil && f.Code == toolspec.CodeUnavailable
	return f
}

// TakeUnjudged reports whether no worker could judge the call during its wait for an approval, and clears this
// mark. Such a call continues to wait: all workers with its tool may be away for longer than the deadline, and
// the gate judges the call again before the tool runs.
func (c *Call) TakeUnjudged() bool {
	unjudged := c.moves.unjudged
	c.moves.unjudged = false
	return unjudged
}

// mayMove reports whether the call may move to another task queue now. A parked call may not move, because its tool
// may have run.
func (c *Call) mayMove() bool {
	switch c.Status() {
	case toolspec.StatusRunning, toolspec.StatusWaitingApproval, toolspec.StatusWaitingCapacity:
		return !c.moves.stays && c.moves.made < maxMoves
	default:
		return false
	}
}

// pauseBeforeMove waits before the next move if the call has moved freeMoves times or more. It waits once in each
// run, and longer after each move. It returns a failure as WaitForWorker does.
func (c *Call) pauseBeforeMove(ctx workflow.Context, lacking string) *hook.Failure {
	if c.moves.made < freeMoves || c.moves.paused {
		return nil
	}
	c.moves.paused = true
	pause := steps.MissingDelay
	for n := freeMoves; n < c.moves.made; n++ {
		pause = min(pause*2, steps.MissingDelayMax)
	}
	return c.WaitForWorker(ctx, &pause, lacking)
}

// locate returns the task queue on which workers have the tool of the call, or an empty string if the call
// should stay.
func (c *Call) locate(ctx workflow.Context) string {
	at, info := workflow.Now(ctx), workflow.GetInfo(ctx)
	out, err := steps.Local(ctx, contract.Locate, contract.LocateIn{
		ToolID: c.admitted.ToolID, Namespace: info.Namespace, TaskQueue: info.TaskQueueName,
	}, steps.Options("find the workers that have the tool", min(locateTime, c.Remaining(ctx))))
	if err != nil || ctx.Err() != nil || out.TaskQueue == info.TaskQueueName {
		return ""
	}
	if out.TaskQueue != "" {
		c.RecordStep(contract.Locate.Name(), "moves", at, out.DurationUs)
	}
	return out.TaskQueue
}
