package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const (
	// probeTries is how often a probe is asked that cannot tell; the pause between
	// is retryDelay and doubles.
	probeTries = 3
	// doubtTime is what a probe and a request have at the least, even where the
	// call's deadline is over.
	doubtTime = time.Minute
)

// doubt follows an attempt that may have had its effect, of a tool that must not
// be repeated blindly. The tool's probe may know; else, where policy says so, a
// person decides; else the call ends as it is.
func (c *call) doubt(ctx workflow.Context, why *hook.Failure) outcome {
	if c.plan.Probe {
		if o, known := c.reconcile(ctx); known {
			return o
		}
	}
	unknown := c.unknown(ctx, why)
	// Who cancels a call does not want it to wait.
	if c.budgets.ParkUnknownMs > 0 && ctx.Err() == nil {
		return c.park(ctx, unknown)
	}
	return unknown
}

func (c *call) unknown(ctx workflow.Context, why *hook.Failure) outcome {
	cause := string(why.Code)
	if ctx.Err() != nil {
		cause = string(toolspec.CodeCancelled)
	}
	return outcome{end: failed(&hook.Failure{
		Code: toolspec.CodeOutcomeUnknown, SafeMessage: why.SafeMessage, Details: &toolspec.Details{Cause: cause},
	})}
}

// reconcile asks the tool what became of its attempts. A cancel does not stop
// it: what happened has happened, and the caller is told.
func (c *call) reconcile(ctx workflow.Context) (o outcome, known bool) {
	steady := disconnected(ctx)
	lost := c.rounds.Dispatch
	if end, fenced := c.fence(steady); end != nil || !fenced {
		return outcome{end: deref(end)}, end != nil
	}
	missing, pause := missingDelay, retryDelay
	for try := 1; ; {
		out := c.probe(steady, lost)
		switch out.Outcome {
		case Done:
			c.source = toolspec.SourceExecuted
			if out.OutputRef == "" {
				c.setOutput(out.Value)
			} else if c.shapesOutput() {
				return outcome{end: shapedTooLarge()}, true
			}
			return outcome{end: ending{outputRef: out.OutputRef}}, true
		case Refused:
			return outcome{end: failed(out.Failure)}, true
		case Free:
			c.cleared = c.rounds.Dispatch
			if ctx.Err() != nil {
				return outcome{end: failed(&hook.Failure{Code: toolspec.CodeCancelled})}, true
			}
			return outcome{end: failedWith(toolspec.CodeTimeout, "The attempt gave no answer and had no effect"), again: true, any: true}, true
		case NotHere:
			if c.waitForWorker(steady, &missing, "") != nil {
				return o, false
			}
			continue
		default:
		}
		if try++; try > probeTries || workflow.Sleep(steady, pause) != nil {
			return o, false
		}
		pause *= 2
	}
}

// fence raises the epoch, so that a service that knows epochs refuses what an
// attempt still sends that only seems to be over. fenced is false where the
// record does not answer.
func (c *call) fence(ctx workflow.Context) (end *ending, fenced bool) {
	for {
		c.rounds.Dispatch++
		at := workflow.Now(ctx)
		// A number that was never dispatched: it is buried, together with the epoch.
		in := CheckIn{InvocationID: c.admitted.InvocationID, Epoch: c.epoch, Dispatch: c.rounds.Dispatch}
		out, err := local(ctx, Check, in, stepOptions("fence off the attempts before", forever))
		if err != nil {
			c.step(nameCheck, string(c.classify(ctx, err).Code), at, 0)
			return nil, false
		}
		c.step(nameCheck, string(out.Outcome), at, out.DurationUs)
		switch out.Outcome {
		case Superseded:
			if end := c.supersede(ctx); end != nil {
				return end, false
			}
		case Free:
			c.epoch = out.Epoch
			return nil, true
		default:
			return nil, false
		}
	}
}

func (c *call) probe(ctx workflow.Context, dispatch int) ProbeOut {
	c.stage = nameProbe
	at := workflow.Now(ctx)
	in := ProbeIn{
		Facts: c.facts(ctx, c.attempt), Epoch: c.epoch, PlanVersion: c.plan.V, Dispatch: dispatch,
		MaxRuntimeMs: c.runtime().Milliseconds(), MaxResultBytes: c.budgets.MaxResultBytes,
	}
	out, err := regular(ctx, Probe, in, executeOptions(c.admitted.ToolID+": did it take effect?", c.runtime(), max(c.remaining(ctx), doubtTime)))
	if err != nil { // its worker is gone: the next one may know
		out = ProbeOut{Outcome: Lost}
	}
	c.step(nameProbe, string(out.Outcome), at, out.DurationUs)
	return out
}

// park waits for a person who finds out what became of the call. Where the time
// is over, or nobody may be asked, the outcome stays unknown.
func (c *call) park(ctx workflow.Context, unknown outcome) outcome {
	open, end := c.open(ctx, RequestIn{Parked: unknown.end.failure.Details.Cause})
	if end != nil || open.Outcome != Done {
		return recordedOr(end, unknown)
	}
	answer, end := c.wait(ctx, open)
	if end != nil {
		return recordedOr(end, unknown)
	}
	approvalID := open.View.ApprovalID
	switch answer.State {
	case RequestRetried:
		// Policy is asked whether the call may still run. What it says does not make
		// known what happened.
		c.cleared = c.rounds.Dispatch
		c.waited = workflow.Now(ctx).Sub(c.startedAt) // the deadline begins anew
		end := c.gateAgain(ctx, &hook.Ask{})
		if end == nil {
			end = c.acquireAgain(ctx)
		}
		if end != nil {
			return recordedOr(end, unknown)
		}
		unknown.again, unknown.granted = true, true
	case RequestSettledOK:
		return outcome{end: ending{settledBy: approvalID}}
	case RequestSettledFailed:
		return outcome{end: failed(&hook.Failure{
			Code: toolspec.CodeExecution, SafeMessage: "A person settled the call: it did not take effect",
			Details: &toolspec.Details{ApprovalID: approvalID},
		})}
	default: // nobody decided in time
	}
	unknown.end.failure.Details.ApprovalID = approvalID
	return unknown
}

// recordedOr obeys a result that the record has, and nothing else.
func recordedOr(end *ending, unknown outcome) outcome {
	if end != nil && end.recorded != nil {
		return outcome{end: *end}
	}
	return unknown
}

func deref(end *ending) ending {
	if end == nil {
		return ending{}
	}
	return *end
}

func shapedTooLarge() ending {
	return failedWith(toolspec.CodeResultTooLarge, "output hooks shape results of at most 64 KB")
}
