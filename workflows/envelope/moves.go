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
	// changeMove is the id for workflow.GetVersion of this change: a call that finds no worker with its tool
	// on its own task queue moves to another one. A call with an older history waits.
	changeMove = "move"
	// freeMoves is the number of moves without a pause. Before each further move the call waits, so that
	// workers that disagree about who has the tool do not keep each other busy.
	freeMoves = 2
	// maxMoves bounds the moves of a call.
	maxMoves = 32
	// maxAge bounds the time between the start of a moved call and the start of its current run. It limits the
	// effect of a forged start.
	maxAge = 366 * 24 * time.Hour
	// locateTime is the time to find the task queue. The call waits and asks again after it.
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
	// attempt says that an attempt may run now.
	attempt bool
	// stays says that the call must not move any more: its tool may have run, or it ends.
	stays bool
	// unjudged says that the last wait for a part found no worker with it, while the call waits for an approval.
	unjudged bool
}

// Stay keeps the call on this task queue from now on. A run of the call on another queue would not know
// what this run knows of the attempts, or would not end as this run ends.
func (c *Call) Stay() { c.moves.stays, c.moves.to = true, "" }

// StayWhile keeps the call on this task queue until the function that it returns is called.
func (c *Call) StayWhile() (end func()) {
	c.moves.attempt = true
	return func() { c.moves.attempt = false }
}

// MovesTo returns the task queue to which the call moves now, or an empty string.
func (c *Call) MovesTo() string { return c.moves.to }

// Moved returns the data that the call passes to its next run. decisions are the decisions that may still count.
func (c *Call) Moved(decisions []toolspec.Decision) contract.Moved {
	return contract.Moved{
		StartedAtMs: c.from.UnixMilli(), WaitedMs: c.waited.Milliseconds(), Moves: c.moves.made + 1, Decisions: decisions,
	}
}

// adoptMoved takes over the data that the previous run passed on with Moved. It ignores the argument if this run
// continues no other run, or if it cannot read the argument. See contract.Moved.
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
	if from := time.UnixMilli(m.StartedAtMs).UTC(); m.StartedAtMs > 0 && from.Before(c.startedAt) {
		if earliest := c.startedAt.Add(-maxAge); from.Before(earliest) {
			from = earliest
		}
		c.from = from
		// min comes first: a product of any number of milliseconds could overflow.
		c.waited = time.Duration(min(max(m.WaitedMs, 0), c.startedAt.Sub(from).Milliseconds())) * time.Millisecond
	}
	return m
}

// WaitForPart waits for a worker with the part that by names, as WaitForWorker does. If this worker lacks the
// tool of the call too, and only workers on another task queue have it, WaitForPart does not wait: MovesTo
// then returns that task queue, and the failure ends the work of this run.
//
// While the call waits for an approval, the deadline does not count the wait for the part, and the wait ends
// after some tries: see TakeUnjudged.
func (c *Call) WaitForPart(ctx workflow.Context, delay *time.Duration, by string) *hook.Failure {
	lacking := MissingMessage(by)
	if c.moves.attempt || ctx.Err() != nil || workflow.GetVersion(ctx, changeMove, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return c.WaitForWorker(ctx, delay, lacking)
	}
	asks := c.Status() == toolspec.StatusWaitingApproval
	if asks {
		c.PauseDeadline(ctx)
		defer c.ResumeDeadline(ctx)
	}
	if c.mayMove() {
		if f := c.pauseBeforeMove(ctx, lacking); f != nil {
			return c.giveUp(asks, f)
		}
		if c.moves.to = c.locate(ctx); c.moves.to != "" {
			return &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking}
		}
	}
	if asks && *delay >= steps.MissingDelayMax {
		return c.giveUp(asks, &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking})
	}
	return c.giveUp(asks, c.WaitForWorker(ctx, delay, lacking))
}

// giveUp returns f, and records that the gate could not judge a call that waits for an approval.
func (c *Call) giveUp(asks bool, f *hook.Failure) *hook.Failure {
	c.moves.unjudged = asks && f != nil && f.Code == toolspec.CodeUnavailable
	return f
}

// TakeUnjudged reports whether the gate found no worker that could judge the call while it waits for an
// approval, and forgets it. The call then goes on waiting: a pool may be away for longer than the deadline, and
// the gate judges the call again before its tool runs.
func (c *Call) TakeUnjudged() bool {
	unjudged := c.moves.unjudged
	c.moves.unjudged = false
	return unjudged
}

// mayMove reports whether the call may move now. A parked call may not: its tool may have run.
func (c *Call) mayMove() bool {
	switch c.Status() {
	case toolspec.StatusRunning, toolspec.StatusWaitingApproval, toolspec.StatusWaitingCapacity:
		return !c.moves.stays && c.moves.made < maxMoves
	default:
		return false
	}
}

// pauseBeforeMove waits before a move that is not one of the first.
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
