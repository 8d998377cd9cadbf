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
	// locateTime is the time to find the task queue. The call waits and asks again after it.
	locateTime = 10 * time.Second
)

// moves is what a call knows of its way between task queues.
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
}

// Stay keeps the call on this task queue from now on. A run of the call on another one would not know
// what this run knows of the attempts, or would not end as this run ends.
func (c *Call) Stay() { c.moves.stays, c.moves.to = true, "" }

// StayWhile keeps the call on this task queue until the function that it returns is called.
func (c *Call) StayWhile() (end func()) {
	c.moves.attempt = true
	return func() { c.moves.attempt = false }
}

// MovesTo returns the task queue to which the call moves now, or an empty string.
func (c *Call) MovesTo() string { return c.moves.to }

// Moved returns what the call takes along to its next run. decisions are those that may still count.
func (c *Call) Moved(decisions []toolspec.Decision) contract.Moved {
	return contract.Moved{
		StartedAtMs: c.from.UnixMilli(), WaitedMs: c.waited.Milliseconds(), Moves: c.moves.made + 1, Decisions: decisions,
	}
}

// adoptMoved takes over what the run before gave the call along. It ignores the argument of a workflow that
// continues no other, and an argument that it cannot read. See contract.Moved.
func (c *Call) adoptMoved(ctx workflow.Context, raw converter.RawValue) (m contract.Moved) {
	data := raw.Payload().GetData()
	if len(data) == 0 || workflow.GetInfo(ctx).ContinuedExecutionRunID == "" || json.Unmarshal(data, &m) != nil {
		return contract.Moved{}
	}
	c.moves.made = min(max(m.Moves, 0), maxMoves)
	if from := time.UnixMilli(m.StartedAtMs).UTC(); m.StartedAtMs > 0 && from.Before(c.startedAt) {
		c.from = from
		c.waited = min(time.Duration(max(m.WaitedMs, 0))*time.Millisecond, c.startedAt.Sub(from))
	}
	return m
}

// WaitForPart waits for a worker with the part that by names, as WaitForWorker does. If the part is the
// tool of the call, and only workers on another task queue have it, WaitForPart does not wait: MovesTo
// then returns that task queue, and the failure ends the work of this run.
func (c *Call) WaitForPart(ctx workflow.Context, delay *time.Duration, by string) *hook.Failure {
	lacking := MissingMessage(by)
	if by == "tool "+c.admitted.ToolID && c.mayMove(ctx) {
		if f := c.pauseBeforeMove(ctx, lacking); f != nil {
			return f
		}
		if c.moves.to = c.locate(ctx); c.moves.to != "" {
			return &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking}
		}
	}
	return c.WaitForWorker(ctx, delay, lacking)
}

func (c *Call) mayMove(ctx workflow.Context) bool {
	return !c.moves.stays && !c.moves.attempt && c.moves.made < maxMoves && c.Status() == toolspec.StatusRunning && ctx.Err() == nil &&
		workflow.GetVersion(ctx, changeMove, workflow.DefaultVersion, 1) != workflow.DefaultVersion
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
