package envelope

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// DurableTime returns the total time that the plan gives to the durable hooks of the
// steps.
func DurableTime(of ...hook.Step) (sum time.Duration) {
	for _, step := range of {
		sum += time.Duration(step.DurableMs) * time.Millisecond
	}
	return sum
}

// RunStage runs a stage of the plan as the activity of the same name, applies its changes
// and returns its verdict. If the worker lacks a step or a hook of the plan, RunStage waits for
// another worker and tries again until the deadline. It never returns hook.Missing.
func (c *Call) RunStage(ctx workflow.Context, step hook.Step, round int) hook.Verdict {
	return c.runPart(ctx, step, hook.WholeStage, round)
}

// RunApproverHooks runs the hooks of step.ApproverHooks alone. They say which people must approve. Otherwise
// it works as RunStage.
func (c *Call) RunApproverHooks(ctx workflow.Context, step hook.Step, round int) hook.Verdict {
	step.Hooks = step.ApproverHooks
	return c.runPart(ctx, step, hook.PartApprovers, round)
}

// RunOwnStep runs Pawl's own step before the hooks of a stage, without the hooks.
func (c *Call) RunOwnStep(ctx workflow.Context, step hook.Step, round int) hook.Verdict {
	return c.runPart(ctx, step, hook.PartBefore, round)
}

// changeUnread is the id for workflow.GetVersion of this change: if a call has waited for a worker that can read the policy, and its record has a
// result by then, the call ends. A call with an older history runs the stage again with the policy that it had, and so waits until its deadline.
const changeUnread = "unread-settled"

// runPart runs a part of a stage, or the whole stage for hook.WholeStage. It applies the changes of the stage and
// returns the verdict, as RunStage does.
func (c *Call) runPart(ctx workflow.Context, step hook.Step, part hook.Part, round int) hook.Verdict {
	c.stage = string(step.Stage)
	delay := steps.MissingDelay
	for {
		at := workflow.Now(ctx)
		in := hook.StageInput{
			Stage: step.Stage, Own: step.Own, Hooks: step.Hooks, Part: part, PlanVersion: c.plan.V,
			AnyWorker: c.moves.stays || c.moves.attemptRuns, MaxResultBytes: c.Terms().MaxResultBytes, Facts: visible(step.Phase, c.Facts(ctx, round)),
		}
		// The gate puts the terms into the permit, which every attempt with a claim needs.
		if step.Stage == hook.WillCheckConsent.Stage() && c.Lane() != hook.LocalLane {
			terms := c.Terms()
			in.Terms = &terms
		}
		v, err := c.runActivity(ctx, step, in)
		if err != nil {
			v = hook.Verdict{Outcome: hook.Failed, Failure: c.Classify(ctx, err)}
		}
		if v.Outcome == hook.Superseded && step.DurableMs > 0 {
			next := c.HandleSuperseded(ctx)
			if !next.IsEnd() {
				continue
			}
			// The call ends. If the record has a result by now, next has no failure, and Fail makes
			// the failure internal. Settle then returns the result of the record instead.
			v = hook.Verdict{Outcome: hook.Failed, Failure: Fail(next.failure).failure}
		}
		if v.Outcome == hook.Missing {
			v.Failure = c.WaitForPart(ctx, &delay, v.By)
			if v.Failure == nil && v.Unread {
				next := c.ReadGateState(ctx)
				v.Failure = next.failure
				if next.IsEnd() && v.Failure == nil && workflow.GetVersion(ctx, changeUnread, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
					// The record has a result by now, which Settle returns in place of this failure.
					v.Failure = Fail(nil).failure
				}
			}
			if v.Failure == nil {
				continue
			}
			v.Outcome = hook.Failed
		}
		c.apply(&v)
		c.recordStage(step.Stage, round, v, at)
		return v
	}
}

// runActivity runs a stage as a local activity and returns its verdict. If the plan has a durable hook at the stage,
// only Pawl's own step is a local activity, and the hooks run in a regular activity after it. If Pawl's own step does
// not let the call continue, the hooks do not run.
func (c *Call) runActivity(ctx workflow.Context, step hook.Step, in hook.StageInput) (hook.Verdict, error) {
	deadline := c.Remaining(ctx)
	options := steps.Options(summaryOf(step), deadline)
	options.StartToCloseTimeout = min(options.StartToCloseTimeout+c.loadTime(step), deadline)
	if step.DurableMs == 0 || in.Part != hook.WholeStage {
		return steps.Local(ctx, contract.Stage(step.Stage), in, options)
	}
	if c.hasOwn(step) {
		in.Part = hook.PartBefore
		before, err := steps.Local(ctx, contract.Stage(step.Stage), in, options)
		if err != nil || before.Outcome != hook.Continue {
			return before, err
		}
		in.Before, deadline = &before, c.Remaining(ctx)
	}
	in.Part = hook.PartHooks
	budget := min(DurableTime(step)+contract.StepTimeout+c.loadTime(step), deadline)
	in.BudgetMs = max(budget.Milliseconds(), 1)
	return steps.Ask(ctx, c.Owner(), contract.Stage(step.Stage), in, steps.DurableOptions(summaryOf(step), budget, deadline))
}

// loadTime returns the extra time of a stage that handles a large value; 0 for other stages. The stage reads the whole
// value, and redacts and stores the value that a hook returns. On an idle machine this takes 0.1 s for a megabyte. The
// extra time is much longer, because a busy machine is slower, and a stage that runs out of time is repeated
// until the deadline of the call.
func (c *Call) loadTime(step hook.Step) time.Duration {
	const (
		least   = 10 * time.Second
		perByte = 2 * time.Second / (1 << 20)
	)
	var bytes int64
	switch {
	case step.Phase == hook.PhaseOutput && c.info.Truncated:
		bytes = c.info.Bytes
	case step.Stage == hook.DidCacheHit.Stage() && c.cachedInfo.Truncated:
		bytes = c.cachedInfo.Bytes
	}
	if bytes == 0 {
		return 0
	}
	return least + time.Duration(min(bytes, toolspec.MaxResult))*perByte
}

// visible removes the facts that a phase must not see. The phases context and gate see no
// arguments. The phases error, audit, release and final see only the safe arguments.
func visible(p hook.Phase, f hook.Facts) hook.Facts {
	switch p {
	case hook.PhaseContext, hook.PhaseGate:
		f.Args, f.SafeArgs, f.ArgsHistory = nil, nil, nil
	case hook.PhaseError, hook.PhaseAudit, hook.PhaseRelease, hook.PhaseFinal:
		f.Args, f.ArgsHistory = nil, nil
	default:
	}
	return f
}

// apply writes the changes of a stage to the call. If all changes of the call together
// exceed hook.MaxDelta, apply makes the verdict a failure and writes no change of this stage. It
// still stores the permit of the gate, because a call that fails does not use a permit.
func (c *Call) apply(v *hook.Verdict) {
	d := v.Delta
	if v.Permit != nil {
		c.permit = v.Permit
	}
	if !c.AddChangedBytes(v.Size()) {
		v.Outcome = hook.Failed
		v.Failure = &hook.Failure{Code: toolspec.CodeInternal, SafeMessage: "the hooks of this call changed more than 1 MiB"}
		return
	}
	if d.Args != nil {
		c.SetArgs(d.Args, nil)
		c.argsChanged = true
	}
	if d.SafeArgs != nil {
		c.setSafeArgs(d.SafeArgs)
	}
	if d.Output != nil {
		c.SetOutput(d.Output, d.OutputInfo)
	}
	if d.Cached != nil {
		c.cached, c.cachedInfo, c.hit = d.Cached, d.CachedInfo, d.Hit
	}
	if d.Budgets != nil {
		c.budgets = c.budgets.Tighten(*d.Budgets)
	}
	c.bindings = hook.Bind(c.bindings, d.Bindings...)
	c.audit = append(c.audit, d.Audit...)
	for _, s := range d.Needs {
		if !slices.Contains(c.needs, s) {
			c.needs = append(c.needs, s)
		}
	}
	data := slices.Clone(c.data)
	for _, e := range d.Data {
		if i := slices.IndexFunc(data, func(o hook.Entry) bool { return o.Key == e.Key }); i >= 0 {
			data[i] = e
		} else {
			data = append(data, e)
		}
	}
	c.data = data
}

// MissingMessage returns the safe message for a call that finds no worker with the hook,
// tool or plan that the argument names.
func MissingMessage(what string) string { return "no worker has what the call needs: " + what }

// WaitForWorker sleeps for delay and doubles it, up to steps.MissingDelayMax. The caller then tries again, perhaps on
// another worker. WaitForWorker returns a failure if ctx is cancelled, or if the deadline leaves no time for delay;
// lacking is the message of the second failure.
func (c *Call) WaitForWorker(ctx workflow.Context, delay *time.Duration, lacking string) *hook.Failure {
	if c.Remaining(ctx) <= *delay {
		return &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking}
	}
	if err := workflow.Sleep(ctx, *delay); err != nil {
		return c.Classify(ctx, err)
	}
	*delay = min(*delay*2, steps.MissingDelayMax)
	return nil
}

// Classify turns the error of an activity into a failure of the call. An activity returns
// an error only if it has no answer: a refusal of the call is an answer.
func (c *Call) Classify(ctx workflow.Context, err error) *hook.Failure {
	var timeout *temporal.TimeoutError
	var last *temporal.ApplicationError
	switch {
	case ctx.Err() != nil, temporal.IsCanceledError(err):
		return &hook.Failure{Code: toolspec.CodeCancelled}
	case c.Remaining(ctx) <= time.Millisecond:
		return &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: "The call's deadline is over"}
	case errors.As(err, &timeout):
		return &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: "No answer came in time"}
	case errors.As(err, &last) && last.Type() == string(toolspec.CodeUnavailable):
		// Temporal retried the step until the deadline, and no time is left for another try.
		return &hook.Failure{Code: toolspec.CodeUnavailable}
	}
	return &hook.Failure{Code: toolspec.CodeInternal}
}
