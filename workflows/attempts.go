package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// try runs one attempt in the call's lane. One that asked a person takes the
// regular lane, whatever its tool: its approval is consumed by a claim.
func (c *call) try(ctx workflow.Context) outcome {
	if c.plan.Lane == hook.RegularLane || c.rounds.Request > 0 {
		return c.attemptRegular(ctx)
	}
	return c.attemptLocal(ctx)
}

// outcome is what one attempt means for the call.
type outcome struct {
	end ending
	// again says that another attempt may help, after delay or by backoff.
	again bool
	delay time.Duration
	// any says that another attempt is allowed whatever the effect.
	any bool
	// granted says that a person wants another attempt, beyond what is allowed.
	granted bool
	// uncounted says that the dispatch never began.
	uncounted bool
}

// attempts runs the tool until an attempt ends the call. One attempt is one that
// was dispatched; a dispatch that never began is not counted.
func (c *call) attempts(ctx workflow.Context) ending {
	// A cancel counts until execute starts; in the local lane the answer then
	// stands.
	if ctx.Err() != nil {
		return failed(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	c.attempt = 1
	backoff, longest := c.backoff()
	for {
		if c.attempt > 1 {
			if end := c.onRetry(ctx); end != nil {
				return *end
			}
		}
		if end := c.obey(ctx); end != nil {
			return *end
		}
		o := c.try(ctx)
		switch {
		case o.uncounted:
			if ctx.Err() != nil {
				return failed(&hook.Failure{Code: toolspec.CodeCancelled})
			}
			continue
		case !o.again:
			return o.end
		case !o.granted && (c.attempt >= c.maxAttempts() || !c.plan.Repeatable && !o.any):
			c.giveUp(ctx, o.end.failure)
			return o.end
		}
		delay := max(o.delay, backoff)
		backoff = min(backoff*2, longest)
		if c.remaining(ctx) <= delay {
			c.giveUp(ctx, o.end.failure)
			return o.end
		}
		if end := c.pause(ctx, delay); end != nil {
			return *end
		}
		c.attempt++
	}
}

// maxAttempts is what the tool allows, and policy.
func (c *call) maxAttempts() int {
	if n := c.budgets.MaxAttempts; n > 0 {
		return min(n, c.plan.MaxAttempts)
	}
	return c.plan.MaxAttempts
}

// backoff is the pause before the second attempt, and the longest of those that
// follow.
func (c *call) backoff() (first, longest time.Duration) {
	first = time.Duration(c.budgets.RetryDelayMs) * time.Millisecond
	longest = time.Duration(c.budgets.RetryDelayMaxMs) * time.Millisecond
	first = cmp.Or(first, retryDelay)
	return first, max(first, cmp.Or(longest, retryDelayMax))
}

// pause waits before the next attempt on a durable timer, and asks the gate
// again after a long one, and whenever somebody says that things have changed.
func (c *call) pause(ctx workflow.Context, delay time.Duration) *ending {
	c.setStatus(ctx, toolspec.StatusRetrying)
	end := c.sleep(ctx, delay)
	c.setStatus(ctx, toolspec.StatusRunning)
	if end != nil || delay <= regateAfter {
		return end
	}
	return c.judgedNow(ctx)
}

func (c *call) onRetry(ctx workflow.Context) *ending {
	step, ok := c.plan.Step(hook.OnRetry.Stage())
	if !ok {
		return nil
	}
	return c.over(ctx, c.runStage(ctx, step, c.attempt), step.Stage)
}

func (c *call) giveUp(ctx workflow.Context, why *hook.Failure) {
	if step, ok := c.plan.Step(hook.OnGiveUp.Stage()); ok {
		c.failure = why
		c.runStage(disconnected(ctx), step, 1)
		c.failure = nil
	}
}

// attemptLocal runs the tool inside the workflow task.
func (c *call) attemptLocal(ctx workflow.Context) outcome {
	steady := disconnected(ctx)
	delay := missingDelay
	for {
		at := workflow.Now(ctx)
		out, err := local(steady, Execute, c.executeIn(ctx, 0, nil), localExecuteOptions(c.admitted.ToolID, c.runtime()))
		if err != nil {
			out = ExecuteOut{Outcome: Interrupted, Failure: &hook.Failure{Code: toolspec.CodeTimeout}}
		}
		if o, again := c.sorted(ctx, out, at, &delay, hook.LocalLane, 0); !again {
			return o
		}
	}
}

// attemptRegular runs the tool as an activity of its own, with a claim.
func (c *call) attemptRegular(ctx workflow.Context) outcome {
	delay := missingDelay
	for {
		at := workflow.Now(ctx)
		c.rounds.Dispatch++
		dispatch := c.rounds.Dispatch
		in := c.executeIn(ctx, dispatch, c.answered())
		out, err := c.watched(ctx, in, executeOptions(c.admitted.ToolID, c.runtime(), c.remaining(ctx)))
		if err != nil {
			return c.lost(ctx, c.classify(ctx, err), dispatch, at)
		}
		if o, again := c.sorted(ctx, out, at, &delay, hook.RegularLane, dispatch); !again {
			return o
		}
	}
}

// sorted turns the answer of execute into an outcome; again says that the same
// attempt is to be dispatched once more.
func (c *call) sorted(ctx workflow.Context, out ExecuteOut, at time.Time, delay *time.Duration, lane hook.Lane, dispatch int) (o outcome, again bool) {
	c.trace(out, at)
	switch out.Outcome {
	case Done:
		c.tryRecorded(lane, dispatch, "ok", "", at, out.DurationUs)
		c.challenge, c.source = out.Challenge, toolspec.SourceExecuted
		if out.Responded {
			c.source = toolspec.SourceResponded
		}
		if out.OutputRef == "" {
			c.setOutput(out.Value)
		} else if c.shapesOutput() {
			return outcome{end: shapedTooLarge()}, false
		}
		return outcome{end: ending{outputRef: out.OutputRef}}, false
	case NotHere:
		if f := c.waitForWorker(ctx, delay, lacking(out.By)); f != nil {
			return outcome{end: failed(f)}, false
		}
		return o, true
	case Superseded:
		if end := c.supersede(ctx); end != nil {
			return outcome{end: *end}, false
		}
		return outcome{uncounted: true}, false
	case Tombstoned:
		return outcome{uncounted: true}, false
	case Unleased:
		if end := c.leaseAgain(ctx); end != nil {
			return outcome{end: *end}, false
		}
		return outcome{uncounted: true}, false
	case Undispatched:
		return c.undone(ctx, out, delay, dispatch)
	case Claimed:
		// Somebody claimed before and never answered, and the tool may not be
		// repeated now, or might not then: the record knows.
		c.tryRecorded(lane, dispatch, "lost", "", at, out.DurationUs)
		return c.doubt(ctx, &hook.Failure{Code: CauseLost}), false
	case Changed:
		// During a deploy old and new workers answer in turn; the wait keeps the
		// call from running in a circle.
		if f := c.waitForWorker(ctx, &c.disagree, "workers disagree about the tool"); f != nil {
			return outcome{end: failed(f)}, false
		}
		if end := c.changed(ctx); end != nil {
			return outcome{end: *end}, false
		}
		if !c.plan.Repeatable && c.last != nil {
			// That attempt was all that the tool, as it is now, would have had.
			return *c.last, false
		}
		return outcome{uncounted: true}, false
	case Interrupted:
		c.tryRecorded(lane, dispatch, "interrupted", out.Failure.Code, at, out.DurationUs)
		return c.interrupted(ctx, out.Failure), false
	case Refused:
	default:
		// A newer worker's answer. Nobody may guess what it means for the effect: the
		// task fails, and is tried again until a worker has it that knows.
		panic(fmt.Sprintf("execute answered %q, which this version does not know", out.Outcome))
	}
	c.tryRecorded(lane, dispatch, "failed", out.Failure.Code, at, out.DurationUs)
	if out.NothingHappened || c.plan.Repeatable {
		c.tried[len(c.tried)-1].Outcome = answeredOutcome
	}
	o = outcome{
		end: failed(out.Failure), again: out.Retryable, any: out.NothingHappened,
		delay: time.Duration(out.Failure.RetryAfterMs) * time.Millisecond,
	}
	if c.plan.Repeatable && !out.NothingHappened && c.effect != toolspec.ReadOnly {
		c.last = &o
	}
	return o, false
}

// answeredOutcome marks a dispatch after which another one is safe.
const answeredOutcome = "failed_safely"

func (c *call) answered() []int {
	dispatches := slices.Clone(c.undispatched)
	for d := range c.cleared {
		dispatches = append(dispatches, d+1)
	}
	for _, t := range c.tried {
		if t.Outcome == answeredOutcome {
			dispatches = append(dispatches, t.Dispatch)
		}
	}
	slices.Sort(dispatches)
	return slices.Compact(dispatches)
}

// shapesOutput reports whether a stage of the plan must see the value.
func (c *call) shapesOutput() bool {
	for _, step := range c.plan.Post {
		if step.Phase == hook.PhaseOutput && step.Stage != hook.WillWriteCache.Stage() {
			return true
		}
	}
	return false
}

func (c *call) executeIn(ctx workflow.Context, dispatch int, answered []int) ExecuteIn {
	in := ExecuteIn{
		Facts: c.facts(ctx, c.attempt), Epoch: c.epoch, Dispatch: dispatch, Answered: answered, Once: !c.plan.Repeatable,
		PlanVersion:  c.plan.V,
		MaxRuntimeMs: c.runtime().Milliseconds(), MaxResultBytes: c.budgets.MaxResultBytes,
	}
	if dispatch == 0 && !c.leasedAt.IsZero() {
		in.LeasedAtMs = c.leasedAt.UnixMilli()
	}
	if c.approval != nil {
		in.ApprovalID = c.approval.ApprovalID
	}
	for _, step := range c.plan.Execute {
		switch step.Stage {
		case hook.AroundExecute.Stage():
			in.Around = step.Hooks
		case hook.WillExecute.Stage():
			in.WillExecute = step.Hooks
		case hook.DidExecute.Stage():
			in.DidExecute = step.Hooks
		default: // OnRetry and OnGiveUp are stages of their own
		}
	}
	c.stage = nameExecute
	return in
}

func (c *call) runtime() time.Duration {
	return time.Duration(c.budgets.MaxRuntimeMs) * time.Millisecond
}

// trace takes over the stages that ran inside execute.
func (c *call) trace(out ExecuteOut, at time.Time) {
	code := "ok"
	if out.Failure != nil {
		code = string(out.Failure.Code)
	} else if out.Outcome != Done {
		code = string(out.Outcome)
	}
	c.events = append(c.events, StageEvent{
		Stage: nameExecute, Attempt: c.attempt, Outcome: code, By: out.By, AtMs: at.UnixMilli(), DurationUs: out.DurationUs,
	})
	for _, t := range out.Trace {
		ok := "ok"
		if !t.OK {
			ok = "failed"
		}
		c.events = append(c.events, StageEvent{
			Stage: string(t.Stage), Attempt: c.attempt, Outcome: ok, AtMs: at.UnixMilli(), DurationUs: t.DurationUs,
		})
	}
}

func (c *call) tryRecorded(lane hook.Lane, dispatch int, outcome string, code toolspec.Code, at time.Time, durationUs int64) {
	c.tried = append(c.tried, AttemptEvent{
		Attempt: c.attempt, Dispatch: dispatch, Lane: lane, Outcome: outcome, Code: code,
		AtMs: at.UnixMilli(), DurationUs: durationUs,
	})
}
