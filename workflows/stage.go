package workflows

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// durable is what the plan gives the durable hooks of a step.
func durable(steps ...hook.Step) (sum time.Duration) {
	for _, step := range steps {
		sum += time.Duration(step.DurableMs) * time.Millisecond
	}
	return sum
}

// lasts reports whether a durable hook may hold the call up before it ends.
func (c *call) lasts() bool {
	return durable(c.plan.Pre...) > 0 || durable(c.plan.Execute...) > 0 || durable(c.plan.Post...) > 0
}

// runStage runs an active stage as an activity named after it, applies its delta
// and returns its verdict. A stage whose worker lacks a hook of the plan
// waits for one that has it.
func (c *call) runStage(ctx workflow.Context, step hook.Step, round int) hook.Verdict {
	c.stage = string(step.Stage)
	delay := missingDelay
	for {
		at := workflow.Now(ctx)
		in := hook.StageInput{Stage: step.Stage, Hooks: step.Hooks, PlanVersion: c.plan.V, Facts: seen(step.Phase, c.facts(ctx, round))}
		v, err := c.runHooks(ctx, step, in)
		if err != nil {
			v = hook.Verdict{Outcome: hook.Failed, Failure: c.classify(ctx, err)}
		}
		if v.Outcome == hook.Missing {
			v.Failure = c.waitForWorker(ctx, &delay, lacking(v.By))
			if v.Failure == nil && v.Unread {
				v.Failure = c.lookAgain(ctx)
			}
			if v.Failure == nil {
				continue
			}
			v.Outcome = hook.Failed
		}
		c.apply(&v)
		c.record(step.Stage, round, v, at)
		return v
	}
}

// lookAgain reads anew which policy is active. A result that the record has by
// then is settle's to find.
func (c *call) lookAgain(ctx workflow.Context) *hook.Failure {
	if _, end := c.review(ctx, RequestOut{View: &toolspec.ApprovalView{}}, nil); end != nil {
		return end.failure
	}
	return nil
}

// runHooks runs the hooks of a stage inside the workflow task, or, where the plan
// has a durable one among them, as an activity of its own.
func (c *call) runHooks(ctx workflow.Context, step hook.Step, in hook.StageInput) (hook.Verdict, error) {
	deadline := c.remaining(ctx)
	if step.DurableMs == 0 {
		return local(ctx, Stage(step.Stage), in, stepOptions(stageSummary(step), deadline))
	}
	budget := min(durable(step)+stepTimeout, deadline)
	in.BudgetMs = max(budget.Milliseconds(), 1)
	return regular(ctx, Stage(step.Stage), in, durableOptions(stageSummary(step), budget, deadline))
}

// idle reports whether nobody needs a step that is there on demand.
func (c *call) idle(step hook.Step) bool {
	return step.OnDemand && !slices.Contains(c.needs, step.Stage)
}

// seen leaves out of the facts what a phase may not see: the gate judges without
// arguments, and reports see the safe ones.
func seen(p hook.Phase, f hook.Facts) hook.Facts {
	switch p {
	case hook.PhaseContext, hook.PhaseGate:
		f.Args, f.SafeArgs, f.ArgsHistory = nil, nil, nil
	case hook.PhaseError, hook.PhaseAudit, hook.PhaseRelease, hook.PhaseFinal:
		f.Args, f.ArgsHistory = nil, nil
	default:
	}
	return f
}

// apply takes over what a stage changed. Deltas beyond the budget of a call
// would get the whole workflow terminated, so they end it here.
func (c *call) apply(v *hook.Verdict) {
	d := v.Delta
	if c.deltaBytes += v.Size(); c.deltaBytes > hook.MaxDelta {
		v.Outcome = hook.Failed
		v.Failure = &hook.Failure{Code: toolspec.CodeInternal, SafeMessage: "the hooks of this call changed more than 1 MB"}
		return
	}
	if d.Args != nil {
		c.setArgs(d.Args, nil)
		c.argsChanged = true
	}
	if d.SafeArgs != nil {
		c.show(d.SafeArgs)
	}
	if d.Output != nil {
		c.setOutput(d.Output)
	}
	if d.Cached != nil {
		c.cached, c.hit = d.Cached, d.Hit
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

func (c *call) record(stage hook.Stage, round int, v hook.Verdict, at time.Time) {
	outcome := string(v.Outcome)
	switch {
	case v.Failure != nil:
		outcome = string(v.Failure.Code)
	case outcome == "":
		outcome = "ok"
	}
	c.events = append(c.events, StageEvent{
		Stage: string(stage), Round: round, Outcome: outcome, By: v.By, Rule: v.Delta.Rule,
		AtMs: at.UnixMilli(), DurationUs: v.DurationUs, Notes: v.Notes,
	})
}

// step records a step of Pawl's own.
func (c *call) step(name string, outcome string, at time.Time, durationUs int64) {
	c.events = append(c.events, StageEvent{Stage: name, Outcome: outcome, AtMs: at.UnixMilli(), DurationUs: durationUs})
}

// lacking says what no worker had.
func lacking(what string) string { return "no worker has what the call needs: " + what }

// waitForWorker sleeps before the next look for a worker that has what the plan
// names: 1 s doubling to 30 s. It returns a failure where there is no next look:
// lacking says what the deadline passed without.
func (c *call) waitForWorker(ctx workflow.Context, delay *time.Duration, lacking string) *hook.Failure {
	if c.remaining(ctx) <= *delay {
		return &hook.Failure{Code: toolspec.CodeUnavailable, SafeMessage: lacking}
	}
	if err := workflow.Sleep(ctx, *delay); err != nil {
		return c.classify(ctx, err)
	}
	*delay = min(*delay*2, missingDelayMax)
	return nil
}

// classify turns the error of an activity, which never carries a domain
// outcome, into the failure it stands for.
func (c *call) classify(ctx workflow.Context, err error) *hook.Failure {
	var timeout *temporal.TimeoutError
	var last *temporal.ApplicationError
	switch {
	case ctx.Err() != nil, temporal.IsCanceledError(err):
		return &hook.Failure{Code: toolspec.CodeCancelled}
	case c.remaining(ctx) <= time.Millisecond:
		return &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: "The call's deadline is over"}
	case errors.As(err, &timeout):
		return &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: "No answer came in time"}
	case errors.As(err, &last) && last.Type() == string(toolspec.CodeUnavailable):
		// There was no time for another try of what is tried until the deadline.
		return &hook.Failure{Code: toolspec.CodeUnavailable}
	}
	return &hook.Failure{Code: toolspec.CodeInternal}
}
