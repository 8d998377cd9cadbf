package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// endingTime bounds the stages after an answer, all together: they may not hold
// up settle for long.
const endingTime = time.Minute

// shape runs the output stages. The first that fails puts the call on its error
// path; the effect has happened all the same.
func (c *call) shape(ctx workflow.Context, end ending) ending {
	if end.outputRef != "" || end.settledBy != "" {
		return end
	}
	var entry *hook.CacheEntry
	value := json.RawMessage(nil)
	for _, step := range c.plan.Post {
		if step.Phase != hook.PhaseOutput || c.idle(step) || c.nothingToKeep(step) {
			continue
		}
		if step.Stage == hook.WillTransformOutput.Stage() {
			value = c.output
		}
		shown := len(c.shown)
		v := c.runStage(ctx, step, 1)
		if step.Stage == hook.WillWriteCache.Stage() {
			entry = v.Delta.Entry
		}
		if step.Stage == hook.WillRedactOutput.Stage() && len(c.shown) > shown {
			c.shown = c.shown[shown:]
		}
		if info, _ := hook.InfoOf(step.Stage); info.Failure == hook.Logged {
			continue
		}
		if v.Outcome == hook.Failed && v.Failure != nil {
			c.shown = nil
			return failed(v.Failure)
		}
	}
	if value == nil {
		value = c.output
	}
	if entry != nil && c.keeps() {
		c.kept = &Kept{Entry: *entry, Value: value}
	}
	return end
}

// keeps reports whether the value is one that may answer other calls: of a read
// that ran in this call.
func (c *call) keeps() bool {
	return c.source == toolspec.SourceExecuted && !c.challenge && c.effect == toolspec.ReadOnly
}

// nothingToKeep reports whether a step is willWriteCache with nobody but the
// cache itself on it, for a value that it does not keep.
func (c *call) nothingToKeep(step hook.Step) bool {
	return step.OnDemand && step.Stage == hook.WillWriteCache.Stage() && !c.keeps()
}

// finish runs the stages that every call ends with, writes the result and
// returns it. It runs in a disconnected context: nothing stops it any more.
func (c *call) finish(ctx workflow.Context, end ending) (toolspec.Result, error) {
	ctx = disconnected(ctx)
	if end.recorded != nil {
		c.settled(*end.recorded)
		return *end.recorded, nil
	}
	// The deadline is for the call; its ending has time of its own.
	c.waited = workflow.Now(ctx).Sub(c.startedAt)
	steps := c.plan.Post
	if end.failure != nil {
		c.failure, steps = end.failure, c.plan.Error
	}
	c.budgets.DeadlineMs = (endingTime + durable(steps...)).Milliseconds()
	for _, step := range steps {
		if step.Phase != hook.PhaseOutput && !c.idle(step) {
			c.runStage(ctx, step, 1)
		}
	}
	return c.settle(ctx, end)
}

// result writes how the call ended.
func (c *call) result(ctx workflow.Context, end ending) toolspec.Result {
	var r toolspec.Result
	if f := end.failure; f != nil {
		r = toolspec.Failure(f.Code, f.SafeMessage, f.Details)
		r.RetryAfterMs = f.RetryAfterMs
		if f.HTTPStatus != 0 {
			r.HTTPStatus = f.HTTPStatus
		}
	} else {
		r = toolspec.Result{OK: true, Value: c.output, OutputRef: end.outputRef, Source: c.source}
		if end.settledBy != "" {
			r.Details = &toolspec.Details{ApprovalID: end.settledBy}
		}
	}
	r.ToolCallID, r.InvocationID, r.InputDigest = c.admitted.ToolCallID, c.admitted.InvocationID, c.admitted.InputDigest
	r.Attempts = c.counted()
	r.StartedAtMs, r.EndedAtMs = c.startedAt.UnixMilli(), workflow.Now(ctx).UnixMilli()
	return r
}

// counted is the number of attempts that were dispatched.
func (c *call) counted() int {
	highest := 0
	for _, t := range c.tried {
		highest = max(highest, t.Attempt)
	}
	return highest
}

// settle closes the record in one round trip, tried until it holds. The
// workflow closes only after it, for a signal that lands in the closing task
// throws that task's results away and runs it again.
func (c *call) settle(ctx workflow.Context, end ending) (toolspec.Result, error) {
	c.stage = nameSettle
	result := c.result(ctx, end)
	for {
		out, err := local(ctx, Settle, SettleIn{
			InvocationID: c.admitted.InvocationID, TenantID: c.admitted.Context.TenantID, Epoch: c.epoch,
			Result: result, Holds: len(c.needs) > 0 || c.epoch > 1, SafeArgs: c.safeArgs, PolicyDigest: c.policyDigest,
			InputHistory: c.safeHistory, OutputHistory: c.shown,
			Stages: c.events, Attempts: c.tried, Audit: c.audit, Hydrations: c.hydrations,
			Kept: c.kept,
		}, stepOptions("write the result", forever))
		if err != nil {
			return toolspec.Result{}, err
		}
		switch {
		case out.Outcome == Superseded:
			again, err := c.readmit(ctx)
			if err != nil {
				return toolspec.Result{}, err
			}
			if again == nil {
				continue
			}
			if again.recorded != nil {
				result = *again.recorded
			}
		case out.Result != nil:
			result = *out.Result
		}
		c.settled(result)
		c.upsertOutcome(ctx, result)
		return result, nil
	}
}

// settled is where every call ends up.
func (c *call) settled(result toolspec.Result) {
	c.status, c.stage, c.pending = toolspec.StatusSettled, nameSettle, nil
	c.attempt = result.Attempts
}
