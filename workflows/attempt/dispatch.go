package attempt

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

// dispatched is one dispatch of an attempt.
type dispatched struct {
	lane hook.Lane
	// number is 0 in the local lane. In the claimed lane it is the number of the claim that has the answer.
	number int
	// at is the time of the dispatch.
	at time.Time
}

// runLocally runs the tool inside the workflow task, without a claim. A cancel of the
// call does not stop the tool.
func (a *Attempts) runLocally(ctx workflow.Context) outcome {
	c := a.call
	delay := steps.MissingDelay
	for {
		d := dispatched{lane: hook.LocalLane, at: workflow.Now(ctx)}
		in := a.executeIn(ctx, 0)
		in.Watched = c.Admitted().Watched
		if at := a.parts.LeasedAt(); !at.IsZero() {
			in.LeasedAtMs = at.UnixMilli()
		}
		out, err := steps.Local(steps.Disconnected(ctx), contract.Execute, in, steps.LocalExecuteOptions(c.Admitted().ToolID, c.Runtime()))
		// The tool ran longer than the timeout of the step, so its outcome is not known.
		if err != nil {
			out = contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: toolspec.CodeTimeout}}
		}
		if o, again := a.interpret(ctx, out, d, &delay); !again {
			return o
		}
	}
}

// claimLocally runs the tool inside the workflow task, with a claim. A cancel of the call does not
// stop the tool. If the task is lost, another execution of this code finds the claim in the record, and
// the kept answer if the tool has answered.
func (a *Attempts) claimLocally(ctx workflow.Context) outcome {
	c := a.call
	delay := steps.MissingDelay
	for {
		d := dispatched{lane: hook.ClaimedLane, at: workflow.Now(ctx), number: c.NextDispatch()}
		in := a.executeIn(ctx, d.number)
		in.Answered = a.claims.repeatable()
		out, err := steps.Local(steps.Disconnected(ctx), contract.Execute, in, steps.ClaimedExecuteOptions(c.Admitted().ToolID, c.Runtime()))
		// The step ran longer than its timeout, or the worker was too busy to begin it.
		if err != nil {
			c.Stay()
			return a.handleLost(ctx, &hook.Failure{Code: toolspec.CodeTimeout}, d)
		}
		if out.Dispatch > 0 {
			d.number = out.Dispatch
		}
		if o, again := a.interpret(ctx, out, d, &delay); !again {
			return o
		}
	}
}

// dispatch runs the tool as an activity of its own, with a claim.
func (a *Attempts) dispatch(ctx workflow.Context) outcome {
	c := a.call
	delay := steps.MissingDelay
	for {
		d := dispatched{lane: hook.RegularLane, at: workflow.Now(ctx), number: c.NextDispatch()}
		in := a.executeIn(ctx, d.number)
		in.Answered = a.claims.repeatable()
		out, err := a.executeWatched(ctx, in, steps.ExecuteOptions(c.Admitted().ToolID, a.budget(), c.Remaining(ctx)))
		// There is no answer. The worker may be lost, or the task may never have started.
		if err != nil {
			c.Stay()
			return a.handleLost(ctx, c.Classify(ctx, err), d)
		}
		if o, again := a.interpret(ctx, out, d, &delay); !again {
			return o
		}
	}
}

// budget returns the longest time of an attempt in the regular lane: the time of the tool, and the time to make
// the preview of the tool again if people have approved a preview.
func (a *Attempts) budget() time.Duration {
	if approval := a.call.Approval(); approval != nil && approval.PreviewDigest != "" {
		return a.call.Runtime() + toolspec.PreviewTimeout
	}
	return a.call.Runtime()
}

// executeIn returns the input of one dispatch, and sets the stage of the call. dispatch
// is 0 in the local lane.
func (a *Attempts) executeIn(ctx workflow.Context, dispatch int) contract.ExecuteIn {
	c := a.call
	in := contract.ExecuteIn{
		Facts: c.Facts(ctx, c.Attempt()), Epoch: c.Epoch(), Dispatch: dispatch, PlanVersion: c.Plan().V, Permit: c.Permit(), Terms: c.Terms(),
	}
	c.SetStage(contract.Execute.Name())
	return in
}

// executeWatched runs an attempt as an activity of its own and returns its answer. If the call uses a
// connection, executeWatched runs willAuthorize after each recheck that comes meanwhile. If that stage denies
// the call, executeWatched cancels the attempt, because the tool must not continue
// without the right to its connection. If the tool still answers, the answer counts. If the stage does not deny
// the call, executeWatched leaves a recheck pending, so that the whole gate judges the call before another attempt.
func (a *Attempts) executeWatched(ctx workflow.Context, in contract.ExecuteIn, options workflow.ActivityOptions) (out contract.ExecuteOut, err error) {
	c := a.call
	if c.Connection() == nil {
		return steps.Ask(ctx, c.Owner(), contract.Execute, in, options)
	}
	// If the gate lacks a part on this task queue, the call must not move while the attempt runs.
	allowMove := c.StayForAttempt()
	defer allowMove()
	// A cancel of the call stops the activity, and so does a call of cancel. In both cases
	// the workflow still waits for the answer of the activity.
	running, cancel := workflow.WithCancel(ctx)
	defer cancel()
	attempt, err := steps.Begin(running, contract.Execute, in, options)
	if err != nil {
		return out, err
	}
	steady := steps.Disconnected(ctx)
	hadRecheck := false
	for a.revoked == nil {
		if err := workflow.Await(steady, func() bool { return attempt.IsReady() || c.HasRecheck() }); err != nil || attempt.IsReady() {
			break
		}
		hadRecheck = c.TakeRecheck()
		if a.revoked = a.parts.Denial(steady); a.revoked != nil {
			cancel()
		}
		c.SetStage(contract.Execute.Name()) // Denial has set the stages of the gate
	}
	out, err = steps.Answer(steady, c.Owner(), contract.Execute, attempt)
	// Denial runs only willAuthorize, and returns nil also if that stage failed. So the recheck is not done yet.
	if hadRecheck && a.revoked == nil && judgesAgain(ctx) {
		c.RequestRecheck()
	}
	return out, err
}

// interpret records the answer of execute and turns it into an outcome. If again is true, the outcome does not
// count: the caller dispatches the same attempt once more.
func (a *Attempts) interpret(ctx workflow.Context, out contract.ExecuteOut, d dispatched, delay *time.Duration) (o outcome, again bool) {
	c := a.call
	a.recordTrace(out, d.at)
	repeatable := c.Plan().Repeatable
	failedSafely := out.Outcome == contract.Refused && (out.NothingHappened || repeatable)
	a.claims.addAnswer(d.number, out, failedSafely || out.Outcome == contract.Undispatched)
	if !endedBeforeTool(out) {
		c.Stay()
	}
	if ranNoTool(out.Outcome) && a.endsDenied(ctx) {
		return failWith(a.revoked), false
	}
	switch out.Outcome {
	case contract.Done:
		a.recordDispatch(d, "ok", "", out.DurationUs)
		source := toolspec.SourceExecuted
		if out.Responded {
			source = toolspec.SourceResponded
		}
		c.SetSource(source, out.Challenge)
		return endWith(a.succeed(out.Value, out.OutputInfo)), false
	case contract.NotHere: // another worker may have the missing part
		if f := c.WaitForPart(ctx, delay, out.By); f != nil {
			return failWith(f), false
		}
		return a.dispatchAgain(ctx)
	case contract.Superseded:
		if next := c.HandleSuperseded(ctx); next.IsEnd() {
			return endWith(next), false
		}
		return outcome{then: Dispatch}, false
	case contract.Unpermitted:
		// The gate of this run has issued no permit, or the arguments or another fact that it judged has changed.
		o, _ = a.waitThen(ctx, &a.disagreeDelay, "workers disagree about what the gate has permitted", Regate)
		return o, false
	case contract.Tombstoned: // the next dispatch has a new number
		return outcome{then: Dispatch}, false
	case contract.Unleased:
		return outcome{then: Lease}, false
	case contract.Undispatched:
		// The database did not say whether the dispatch was claimed, the local lane had
		// no room, or something that the tool or a hook needs was not available.
		if out.Failure != nil {
			return failWith(out.Failure), false
		}
		if o, again = a.waitThen(ctx, delay, "the attempt could not begin before the call's deadline; the tool was not run", Dispatch); !again {
			return o, false
		}
		return a.dispatchAgain(ctx)
	case contract.Redelivered:
		// The server delivered the task twice. The answer of the first delivery can no
		// longer arrive.
		a.recordDispatch(d, "lost", "", out.DurationUs)
		return a.handleInterrupted(ctx, &hook.Failure{Code: contract.CauseLost}), false
	case contract.Claimed:
		// An earlier claim has no answer that this run can use, and its tool must not be repeated: the
		// tool is not repeatable now, or was not repeatable at the time of that claim. In the claimed
		// lane, the attempt has waited until the tool of that claim had ended.
		a.recordDispatch(d, "lost", "", out.DurationUs)
		return a.resolveDoubt(ctx, &hook.Failure{Code: contract.CauseLost}), false
	case contract.Changed:
		// During a deploy, old and new workers answer in turn. The wait prevents a busy
		// loop.
		o, _ = a.waitThen(ctx, &a.disagreeDelay, "workers disagree about the tool", Rehydrate)
		return o, false
	case contract.Interrupted:
		a.recordDispatch(d, "interrupted", out.Failure.Code, out.DurationUs)
		return a.handleInterrupted(ctx, out.Failure), false
	case contract.Refused:
	default:
		// The answer comes from a newer worker, and this version cannot know whether the
		// tool had its effect. The workflow task fails, and Temporal retries it until a
		// worker that knows the answer executes it.
		panic(fmt.Sprintf("execute answered %q, which this version does not know", out.Outcome))
	}
	word := "failed"
	if failedSafely {
		word = "failed_safely" // another attempt is safe
	}
	a.recordDispatch(d, word, out.Failure.Code, out.DurationUs)
	o = outcome{
		next: envelope.Fail(out.Failure), again: out.Retryable, noEffect: out.NothingHappened,
		delay: time.Duration(out.Failure.RetryAfterMs) * time.Millisecond,
	}
	// If a deploy makes the tool not repeatable before the next attempt, this outcome
	// ends the call: see AfterRehydrate.
	if repeatable && !out.NothingHappened && c.Effect() != toolspec.ReadOnly {
		a.last = &o
	}
	return o, false
}

// endedBeforeTool reports whether a dispatch ended before the tool ran, and without a claim.
func endedBeforeTool(out contract.ExecuteOut) bool {
	return ranNoTool(out.Outcome) && out.ClaimID == ""
}

// ranNoTool reports whether a dispatch with the outcome ended before the tool ran.
func ranNoTool(o contract.Outcome) bool {
	switch o {
	case contract.NotHere, contract.Superseded, contract.Unpermitted, contract.Tombstoned, contract.Unleased, contract.Undispatched, contract.Changed:
		return true
	default:
		return false
	}
}

// waitThen sleeps for delay, doubles delay and returns an outcome whose next step is then; again is true. If the
// deadline leaves no time for delay, the outcome ends the call with lacking as its message, and again is false.
func (a *Attempts) waitThen(ctx workflow.Context, delay *time.Duration, lacking string, then Then) (o outcome, again bool) {
	if f := a.call.WaitForWorker(ctx, delay, lacking); f != nil {
		return failWith(f), false
	}
	return outcome{then: then}, true
}

// succeed ends the call with a value of the tool. A worker of an older release answers with the reference of a large
// value and without its short form. Output hooks cannot see such a value, so the call fails if the plan has an
// output stage that needs the value.
func (a *Attempts) succeed(value []byte, info toolspec.OutputInfo) envelope.Next {
	switch {
	case info.OutputRef == "" || len(value) > 0:
		a.call.SetOutput(value, info)
	case a.call.ShapesOutput():
		return envelope.FailWith(toolspec.CodeResultTooLarge, "output hooks shape results of at most 64 KiB")
	default:
		a.call.SetStoredOutput(info)
	}
	return envelope.Succeed()
}

// recordTrace records the step execute and the stages that ran inside it.
func (a *Attempts) recordTrace(out contract.ExecuteOut, at time.Time) {
	attempt := a.call.Attempt()
	code := "ok"
	if out.Failure != nil {
		code = string(out.Failure.Code)
	} else if out.Outcome != contract.Done {
		code = string(out.Outcome)
	}
	a.call.RecordStages(contract.StageEvent{
		Stage: contract.Execute.Name(), Attempt: attempt, Outcome: code, By: out.By, AtMs: at.UnixMilli(), DurationUs: out.DurationUs,
	})
	for _, t := range out.Trace {
		stageOutcome := "ok"
		if !t.OK {
			stageOutcome = "failed"
		}
		a.call.RecordStages(contract.StageEvent{Stage: string(t.Stage), Attempt: attempt, Outcome: stageOutcome, AtMs: at.UnixMilli(), DurationUs: t.DurationUs})
	}
}

// recordDispatch records a dispatch. word is the outcome of the dispatch in the record.
func (a *Attempts) recordDispatch(d dispatched, word string, code toolspec.Code, durationUs int64) {
	a.call.RecordAttempt(contract.AttemptEvent{
		Dispatch: d.number, Lane: d.lane, Outcome: word, Code: code, AtMs: d.at.UnixMilli(), DurationUs: durationUs,
	})
}
