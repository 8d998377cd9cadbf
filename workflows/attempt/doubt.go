package attempt

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// probeTries bounds the tries of a probe that cannot tell whether the call took effect. The
	// pause between two tries begins at retryDelay and doubles.
	probeTries = 3
	// probeTime is the least time that a probe has, even if the call's deadline has
	// passed.
	probeTime = time.Minute
)

// resolveDoubt handles an attempt that may have had its effect, of a tool that is not
// repeatable. It asks the probe of the tool, if the tool has one. If there is no probe,
// or the probe cannot tell, the next step is Resolve if policy lets the call ask a
// person. Otherwise the call ends with an unknown outcome.
//
// Before resolveDoubt uses the answer "it had no effect", and before the call asks a person,
// resolveDoubt waits until every attempt has ended: an attempt that still runs could have its
// effect later. The wait is not necessary if the service refuses requests of earlier attempts.
func (a *Attempts) resolveDoubt(ctx workflow.Context, why *hook.Failure) outcome {
	c := a.call
	// A cancelled call does not ask a person.
	asks := c.Budgets().ParkUnknownMs > 0 && ctx.Err() == nil
	probes := c.Plan().Probe
	if !probes && !asks {
		return endWith(envelope.OutcomeUnknown(ctx, why))
	}
	// While the record has the old epoch, an earlier attempt could still claim and run the tool, even after a probe or
	// a person has answered. So if the epoch cannot be raised, the outcome stays unknown.
	f, next := a.raiseFence(steps.Disconnected(ctx), a.endedClaims(probes))
	if next.IsEnd() || f.failed {
		return endWith(recordedOr(next, envelope.OutcomeUnknown(ctx, why)))
	}
	waiting := ctx
	if probes { // a cancel stops neither the probe nor the wait before the probe
		waiting = steps.Disconnected(ctx)
		if o, known := a.reconcileEarly(ctx, f); known {
			return o
		}
	}
	// Sleep returns an error only if the call is cancelled and the tool has no probe.
	if workflow.Sleep(waiting, f.overAt.Sub(workflow.Now(ctx))) != nil {
		return endWith(envelope.OutcomeUnknown(ctx, why))
	}
	if probes {
		if o, known := a.reconcile(ctx, f); known {
			return o
		}
	}
	if !asks || ctx.Err() != nil {
		return endWith(envelope.OutcomeUnknown(ctx, why))
	}
	a.doubtful, a.fencedClaims = endWith(envelope.OutcomeUnknown(ctx, why)), f.claims
	return outcome{then: Resolve, next: a.doubtful.next}
}

// AfterResolve returns the next step of the call after a person was asked whether the call took effect. state is the
// decision of the person on the request approvalID, or another state if no person decided. AfterResolve calls again if
// the person decided `retry`: again asks the gate and acquires capacity for another attempt.
//
// The decision says whether the attempts of the fenced claims took effect, so AfterResolve marks these claims as
// resolved. Otherwise they would prevent another attempt, and Settle would replace the result that the person
// decided by an unknown outcome.
func (a *Attempts) AfterResolve(ctx workflow.Context, state contract.RequestState, approvalID string, again func(workflow.Context) envelope.Next) Found {
	o := a.doubtful
	switch state {
	case contract.RequestRetried:
		a.claims.resolve(a.fencedClaims)
		// The earlier attempts may have used up the deadline.
		a.call.RestartDeadline(ctx)
		// The gate or the lack of capacity may prevent another attempt. The refusal does not say
		// whether the earlier attempts took effect, so the call ends with an unknown outcome
		// instead. If the record has a result by now, that result is final.
		if next := again(ctx); next.IsEnd() {
			return Found{Next: recordedOr(next, o.next)}
		}
		a.revoked = nil // the gate allows the call again
		// The person asked for this attempt. It is made even if the tool is not repeatable or
		// the number of attempts is used up.
		o.again, o.granted = true, true
		return a.conclude(ctx, o)
	case contract.RequestSettledOK:
		a.claims.resolve(a.fencedClaims)
		return Found{Next: envelope.SettledBy(approvalID)}
	case contract.RequestSettledFailed:
		a.claims.resolve(a.fencedClaims)
		return Found{Next: envelope.Fail(&hook.Failure{
			Code: toolspec.CodeExecution, SafeMessage: "A person settled the call: it did not take effect",
			Details: &toolspec.Details{ApprovalID: approvalID},
		})}
	default: // no person was asked, or no person decided in time
		o.next.Failure().Details.ApprovalID = approvalID
		return Found{Next: o.next}
	}
}

// FenceAgain raises the epoch and reads the claims of the call again while the call waits for a person. The record may
// have new claims: `pawl reconcile` writes claims after a restore from a backup, and another Temporal run may have owned
// the call. The decision of the person is then about the attempts of all these claims.
//
// FenceAgain waits until each of these attempts has ended. If the record gives no answer, the call keeps the claims that
// it knows, and Settle finds any other claim.
func (a *Attempts) FenceAgain(ctx workflow.Context) {
	f, next := a.raiseFence(steps.Disconnected(ctx), a.endedClaims(a.call.Plan().Probe))
	if next.IsEnd() || f.failed || workflow.Sleep(ctx, f.overAt.Sub(workflow.Now(ctx))) != nil {
		return // the wait for the decision finds the result of the record, or the cancel
	}
	a.fencedClaims = f.claims
}

// recordedOr returns next if next has a result from the record, because that result is
// final. Otherwise it returns unknown and drops the failure in next: a failure that came after the attempt does not
// say whether the tool had its effect.
func recordedOr(next, unknown envelope.Next) envelope.Next {
	if next.RecordedResult() != nil {
		return next
	}
	return unknown
}

// changeProbeEarly is the id for workflow.GetVersion of this change: a call asks the probe
// before its attempts have ended. A call with an older history waits first.
const changeProbeEarly = "probe-early"

// endedClaims returns the claims whose attempts count as ended, so that the call does not wait for them. If the tool
// has a probe, only the attempts after which another attempt is safe count as ended: the function of a tool may return
// while its request is still on the way to the service, and the probe would not see the effect of this request.
func (a *Attempts) endedClaims(probes bool) []contract.Claim {
	if probes {
		return a.claims.repeatable()
	}
	return a.claims.over()
}

// reconcileEarly asks the probe once while an attempt may still run. known is false if no attempt may run any more, or
// if the probe cannot tell yet. The answer "it had no effect" counts only if the service refuses requests
// of earlier attempts: otherwise the attempt could have its effect after the answer.
func (a *Attempts) reconcileEarly(ctx workflow.Context, f fence) (o outcome, known bool) {
	if mayRun := f.overAt.After(workflow.Now(ctx)); !mayRun {
		return o, false
	}
	if workflow.GetVersion(ctx, changeProbeEarly, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return o, false
	}
	out := a.probe(steps.Disconnected(ctx), f.last)
	if out.Outcome == contract.Free && !out.Fenced {
		return o, false
	}
	return a.interpretProbe(ctx, f, out)
}

// reconcile asks the probe of the tool whether the attempts of the call took effect. known is
// false if the probe cannot tell. A cancel of the call does not stop the probe: if the tool had
// its effect, the result must say so.
func (a *Attempts) reconcile(ctx workflow.Context, f fence) (o outcome, known bool) {
	steady := steps.Disconnected(ctx)
	missing, pause := steps.MissingDelay, retryDelay
	for try := 1; ; {
		out := a.probe(steady, f.last)
		if o, known = a.interpretProbe(ctx, f, out); known {
			return o, true
		}
		// This worker lacks the tool or its probe. Another worker may have it. The wait does
		// not count as a try.
		if out.Outcome == contract.NotHere {
			if a.call.WaitForWorker(steady, &missing, "") != nil {
				return o, false
			}
			continue
		}
		if try++; try > probeTries || workflow.Sleep(steady, pause) != nil {
			return o, false
		}
		pause *= 2
	}
}

// interpretProbe turns the answer of the probe into an outcome. known is false if the probe
// cannot tell.
func (a *Attempts) interpretProbe(ctx workflow.Context, f fence, out contract.ProbeOut) (o outcome, known bool) {
	switch out.Outcome {
	// The tool had its effect, so the value is the result of the call.
	case contract.Done:
		a.claims.resolve(f.claims)
		a.call.SetSource(toolspec.SourceExecuted, a.call.Challenge())
		return endWith(a.succeed(out.Value, out.OutputInfo)), true
	// The tool had its effect, but its value cannot be the result of the call.
	case contract.Refused:
		a.claims.resolve(f.claims)
		return failWith(out.Failure), true
	case contract.Free: // the tool had no effect and never will, so it may run again
		a.claims.resolve(f.claims)
		switch {
		case ctx.Err() != nil:
			return failWith(&hook.Failure{Code: toolspec.CodeCancelled}), true
		// The gate denied the call while its tool ran, so no other attempt is allowed.
		case a.revoked != nil:
			return failWith(a.revoked), true
		}
		// Another attempt is safe even if the tool is not repeatable.
		o = endWith(envelope.FailWith(toolspec.CodeTimeout, "The attempt gave no answer and had no effect"))
		o.again, o.noEffect = true, true
		return o, true
	default:
		return o, false
	}
}

// fence is the state of the record at the time when raiseFence raised the epoch.
type fence struct {
	// failed says that the epoch was not raised, for example because the record did not
	// answer.
	failed bool
	// last is the number of the last dispatch before the epoch was raised.
	last int
	// claims are all claims of the call. No earlier attempt can add another claim.
	claims []contract.Claim
	// overAt is the time from which no tool of these claims can run any more.
	overAt time.Time
}

// raiseFence raises the epoch. After that no earlier attempt can claim, and a service
// that checks epochs refuses requests of an earlier attempt.
//
// ended are the claims whose attempts count as ended. If the epoch could not be raised, the field failed of the fence is
// true. raiseFence does not return the cause, because its caller then ends the call with the unknown outcome that it
// already has. Next ends the call only if the record has a newer epoch, and admit then finds a result in the record or
// fails.
func (a *Attempts) raiseFence(ctx workflow.Context, ended []contract.Claim) (fence, envelope.Next) {
	c := a.call
	f := fence{last: c.Rounds().Dispatch}
	for {
		at := workflow.Now(ctx)
		// Check raises the epoch only together with a tombstone. So raiseFence takes a new
		// dispatch number that no attempt uses, and Check writes a tombstone for that number.
		in := contract.CheckIn{InvocationID: c.Admitted().InvocationID, Dispatch: c.NextDispatch(), Epoch: c.Epoch(), Over: ended}
		out, err := steps.Local(ctx, contract.Check, in, steps.Options("fence off the attempts before", steps.Forever))
		if err != nil {
			c.RecordStep(contract.Check.Name(), string(c.Classify(ctx, err).Code), at, 0)
			return fence{failed: true}, envelope.Next{}
		}
		c.RecordStep(contract.Check.Name(), string(out.Outcome), at, out.DurationUs)
		switch out.Outcome {
		case contract.Superseded:
			if next := c.HandleSuperseded(ctx); next.IsEnd() {
				return fence{failed: true}, next
			}
			// Another run may have dispatched attempts under higher numbers.
			f.last = c.Rounds().Dispatch
		case contract.Free:
			c.RaiseEpoch(out.Epoch)
			f.claims, f.overAt = out.Claims, workflow.Now(ctx).Add(time.Duration(out.OverInMs)*time.Millisecond)
			return f, envelope.Next{}
		default:
			// The number has a claim although no attempt of this run used it, or the worker is
			// newer and its answer is unknown here. In both cases the epoch is not raised.
			return fence{failed: true}, envelope.Next{}
		}
	}
}

// probe asks the probe of the tool once, and returns Lost if the probe gives no answer. dispatch is the last dispatch
// that may have had an effect.
func (a *Attempts) probe(ctx workflow.Context, dispatch int) contract.ProbeOut {
	c := a.call
	name := contract.Probe.Name()
	c.SetStage(name)
	at := workflow.Now(ctx)
	in := contract.ProbeIn{
		Facts: c.Facts(ctx, c.Attempt()), Epoch: c.Epoch(), PlanVersion: c.Plan().V, Dispatch: dispatch, Permit: c.Permit(), Terms: c.Terms(),
	}
	options := steps.ExecuteOptions(c.Admitted().ToolID+": did it take effect?", c.Runtime(), max(c.Remaining(ctx), probeTime))
	out, err := steps.Ask(ctx, c.Owner(), contract.Probe, in, options)
	if err != nil { // the probe gave no answer, for example because its worker is gone
		out = contract.ProbeOut{Outcome: contract.Lost}
	}
	c.RecordStep(name, string(out.Outcome), at, out.DurationUs)
	return out
}
