package attempt

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// retryDelay is the wait before the second attempt. It doubles up to retryDelayMax.
	retryDelay    = time.Second
	retryDelayMax = time.Minute
	// regateAfter bounds the wait between two attempts. After a longer wait the call asks
	// the gate again.
	regateAfter = time.Minute
)

// Then is the next step of a call after Run, AfterRehydrate or AfterResolve.
type Then int

// The next steps of a call.
const (
	// Over: there is no further attempt. Found.Next says how the call ends.
	Over Then = iota
	// Repeat: another attempt follows. The caller calls Run.
	Repeat
	// Dispatch: the tool did not start. The caller calls Run, which dispatches the same
	// attempt again.
	Dispatch
	// Regate: the tool did not start, because the permit of the attempt is missing or does not
	// fit. The caller reads the record and asks the gate again.
	Regate
	// Lease: the tool did not start, because a slot of the call has expired. The caller acquires a slot again.
	Lease
	// Rehydrate: the tool did not start, because it is no longer the tool that validated
	// the arguments. The caller validates the arguments again and calls AfterRehydrate.
	Rehydrate
	// Resolve: only a person can say whether the call took effect, and policy lets the call ask.
	// The caller asks and passes the decision to AfterResolve.
	Resolve
)

// Found is the result of an attempt for the call.
type Found struct {
	Then Then
	// Next says how the call ends; zero unless Then is Over.
	Next envelope.Next
	// Cause says why the outcome is unknown; empty unless Then is Resolve.
	Cause string
}

// Parts are the other parts of a call that its attempts need.
type Parts struct {
	// Judge reads the gate state of the call again and asks the gate.
	Judge func(workflow.Context) envelope.Next
	// Denial returns why the call must stop while its tool runs; nil if it may continue.
	Denial func(workflow.Context) *hook.Failure
	// LeasedAt returns when the call last asked for slots; zero if it has never asked.
	LeasedAt func() time.Time
}

// Attempts runs the attempts of one call. A dispatch that never began does not count as
// an attempt: the same attempt is dispatched again.
type Attempts struct {
	call  *envelope.Call
	parts Parts
	// claims holds the claims that this run can account for.
	claims claims
	// delay is the wait before the next attempt. It doubles after each attempt.
	delay time.Duration
	// longest is the upper bound of delay.
	longest time.Duration
	// disagreeDelay is the next wait if two workers disagree about the call: about the version of its tool
	// during a deploy, or about its permit.
	disagreeDelay time.Duration
	// revoked is the denial of the gate because of which the call cancelled a running attempt; nil if there
	// is none.
	revoked *hook.Failure
	// last is the outcome of the last failed attempt that may have had an effect while the
	// tool was repeatable; nil if there is none. See AfterRehydrate.
	last *outcome
	// doubtful is the unknown outcome with which the call ends unless a person decides otherwise.
	doubtful outcome
	// fencedClaims are the claims of the attempts that the person decides about.
	fencedClaims []contract.Claim
}

// outcome says how the call continues or ends after one attempt.
type outcome struct {
	// then is the step that the caller of Run takes next. If it is Over, conclude decides by the other fields whether
	// another attempt follows.
	then Then
	// next says how the call ends if no other attempt follows.
	next envelope.Next
	// again says that another attempt may succeed.
	again bool
	// delay is the least wait before another attempt.
	delay time.Duration
	// noEffect says that the attempt had no effect: another attempt is safe even if the tool is not
	// repeatable.
	noEffect bool
	// granted says that a person asked for another attempt. It is allowed even if the
	// tool is not repeatable or the number of attempts is used up.
	granted bool
}

func endWith(next envelope.Next) outcome { return outcome{next: next} }

func failWith(f *hook.Failure) outcome { return endWith(envelope.Fail(f)) }

// New returns the attempts of a call that has made none.
func New(c *envelope.Call, parts Parts) *Attempts {
	return &Attempts{call: c, parts: parts, disagreeDelay: steps.MissingDelay}
}

// Claims returns the claims that the result of the call accounts for.
func (a *Attempts) Claims() []contract.Claim { return a.claims.accounted() }

// Begin sets the number of the first attempt and the delays between attempts.
func (a *Attempts) Begin() {
	a.call.SetAttempt(1)
	b := a.call.Budgets()
	a.delay = cmp.Or(time.Duration(b.RetryDelayMs)*time.Millisecond, retryDelay)
	a.longest = max(a.delay, cmp.Or(time.Duration(b.RetryDelayMaxMs)*time.Millisecond, retryDelayMax))
}

// Run runs an attempt, or dispatches again an attempt that did not begin. It returns the next step of the call.
func (a *Attempts) Run(ctx workflow.Context) Found {
	if a.call.Attempt() > 1 {
		if next := a.onRetry(ctx); next.IsEnd() {
			return Found{Next: next}
		}
	}
	// A recheck is pending if policy, a grant or capacity changed after the last verdict. No
	// tool starts before the gate has judged again.
	if a.call.RecheckPending(ctx) {
		if next := a.judge(ctx); next.IsEnd() {
			return Found{Next: next}
		}
	}
	switch a.call.Lane() {
	case hook.LocalLane:
		return a.conclude(ctx, a.runLocally(ctx))
	case hook.ClaimedLane:
		return a.conclude(ctx, a.claimLocally(ctx))
	default:
		return a.conclude(ctx, a.dispatch(ctx))
	}
}

// AfterRehydrate returns the next step of the call after the arguments were validated
// again.
func (a *Attempts) AfterRehydrate(ctx workflow.Context) Found {
	if !a.call.Plan().Repeatable && a.last != nil {
		// The new version of the tool is not repeatable, and an earlier attempt may have
		// had an effect. No further attempt is allowed, so its outcome ends the call.
		return a.conclude(ctx, *a.last)
	}
	return Found{Then: Dispatch}
}

// conclude returns the next step of the call after an attempt. If another attempt
// follows, it first waits until the time of that attempt and sets its number.
func (a *Attempts) conclude(ctx workflow.Context, o outcome) Found {
	c := a.call
	end := Found{Next: o.next}
	switch {
	// A person decides, and the request shows the cause.
	case o.then == Resolve:
		return Found{Then: Resolve, Cause: o.next.Failure().Details.Cause}
	// The tool did not start. The caller removes the obstacle and runs the same attempt
	// again, so there is no backoff and the number of the attempt stays.
	case o.then != Over:
		return Found{Then: o.then}
	// The attempt succeeded, or another attempt cannot help.
	case !o.again:
		return end
	case !a.allowsAnother(o):
		a.giveUp(ctx, o.next.Failure())
		return end
	}
	delay := max(o.delay, a.delay)
	a.delay = min(a.delay*2, a.longest)
	// If the time of the call ends during the wait, no other attempt follows.
	if c.Remaining(ctx) <= delay {
		a.giveUp(ctx, o.next.Failure())
		return end
	}
	if next := a.pause(ctx, delay); next.IsEnd() {
		return Found{Next: next}
	}
	c.SetAttempt(c.Attempt() + 1)
	return Found{Then: Repeat}
}

// allowsAnother reports whether another attempt is allowed after the outcome o: a person asked for it, or
// the gate has not denied the call, attempts are left, and another attempt is safe.
func (a *Attempts) allowsAnother(o outcome) bool {
	c := a.call
	isSafe := c.Plan().Repeatable || o.noEffect
	return o.granted || a.revoked == nil && c.Attempt() < c.MaxAttempts() && isSafe
}

// pause waits for delay before the next attempt, on a durable timer. It asks the gate again after each recheck
// during the wait, and after a wait that is longer than regateAfter. It returns the zero Next, or how the call
// ends if the gate denies it or the call is cancelled.
func (a *Attempts) pause(ctx workflow.Context, delay time.Duration) envelope.Next {
	c := a.call
	c.SetStatus(ctx, toolspec.StatusRetrying, fmt.Sprintf(
		"**Retrying.** Attempt %d of `%s` failed; at most %d are made.", c.Attempt(), c.Admitted().ToolID, c.MaxAttempts()))
	next := a.sleep(ctx, delay)
	c.SetStatus(ctx, toolspec.StatusRunning, "")
	if next.IsEnd() || delay <= regateAfter {
		return next
	}
	return a.judge(ctx)
}

// sleep waits for d on a durable timer. A recheck interrupts the wait: sleep asks the gate, and then waits for the
// rest of d. It returns the zero Next, or how the call ends if the gate denies it or the call is cancelled.
func (a *Attempts) sleep(ctx workflow.Context, d time.Duration) envelope.Next {
	until := workflow.Now(ctx).Add(d)
	for {
		timerCtx, cancel := workflow.WithCancel(ctx)
		timer := workflow.NewTimer(timerCtx, max(until.Sub(workflow.Now(ctx)), 0))
		err := workflow.Await(ctx, func() bool { return timer.IsReady() || a.call.HasRecheck() })
		// In a history from before rechecks of running calls (see envelope.RecheckPending),
		// only the timer ends the wait.
		if err == nil && !timer.IsReady() && !a.call.RecheckPending(ctx) {
			err = workflow.Await(ctx, timer.IsReady)
		}
		isOver := timer.IsReady()
		if isOver {
			err = timer.Get(ctx, nil)
		}
		cancel()
		switch {
		case err != nil:
			return envelope.Fail(&hook.Failure{Code: toolspec.CodeCancelled})
		case isOver:
			return envelope.Next{}
		}
		if next := a.judge(ctx); next.IsEnd() {
			return next
		}
	}
}

// judge asks the gate, which is all that a recheck demands. So judge also clears a pending recheck.
func (a *Attempts) judge(ctx workflow.Context) envelope.Next {
	// In a history from before rechecks of running calls, the recheck stays pending until
	// the next wait.
	if a.call.RecheckPending(ctx) {
		a.call.TakeRecheck()
	}
	return a.parts.Judge(ctx)
}

// onRetry runs the onRetry hooks before every attempt but the first.
func (a *Attempts) onRetry(ctx workflow.Context) envelope.Next {
	step, ok := a.call.Plan().Step(hook.OnRetry.Stage())
	if !ok {
		return envelope.Next{}
	}
	return a.call.NextAfter(ctx, a.call.RunStage(ctx, step, a.call.Attempt()), step.Stage)
}

// giveUp runs the onGiveUp hooks with the failure of the last attempt. A cancel of the
// call does not stop them.
func (a *Attempts) giveUp(ctx workflow.Context, why *hook.Failure) {
	if step, ok := a.call.Plan().Step(hook.OnGiveUp.Stage()); ok {
		a.call.SetFailure(why)
		a.call.RunStage(steps.Disconnected(ctx), step, 1)
		a.call.SetFailure(nil)
	}
}
