package admit

import (
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// defaultDeadline is the time of a call without the time of its attempts. The time that the call waits for
// people does not count.
const defaultDeadline = 15 * time.Minute

// plan returns the plan that this worker would make for a call of the tool now. The first admit of a call
// records its plan, and every later run follows the recorded plan. plan treats the tool of another tenant as a
// tool that no worker has.
func (a *Admitter) plan(tenantID, toolID string) hook.Plan {
	steps := func(list []hook.Info) []hook.Step {
		return a.Hooks.Steps(list, toolID, func(s hook.Stage) bool { return a.Own.Has(s, toolID) })
	}
	p := hook.Plan{
		V: hook.PlanVersionOf(hook.LocalLane), ToolID: toolID, Lane: hook.LocalLane, MaxAttempts: 1,
		Budgets:          hook.Budgets{DeadlineMs: defaultDeadline.Milliseconds()},
		SearchAttributes: a.SearchAttributes,
		Error:            steps(hook.Error()),
	}
	bound, ok := a.Tools.Get(toolID)
	if !ok || toolspec.ForeignTool(tenantID, toolID) {
		return p
	}
	def := bound.Definition()
	p.ToolDigest, p.Effect, p.Risk, p.ScriptArg, p.Discovered = bound.Digest(), def.Effect, def.Risk, def.ScriptArg, bound.Discovered()
	p.Lane, p.Repeatable, p.MaxAttempts = laneOf(def), def.Repeatable(), def.MaxAttempts
	p.V = hook.PlanVersionOf(p.Lane)
	p.Probe = bound.Tool().HasProbe() && !def.Repeatable()
	p.Budgets.MaxRuntimeMs = def.Timeout.Milliseconds()
	p.Budgets.MaxResultBytes = def.MaxResultBytes
	p.Budgets.DeadlineMs += def.Timeout.Milliseconds() * int64(def.MaxAttempts)
	p.Pre = steps(hook.Pre())
	p.Execute = steps(hook.Execute())
	p.Post = steps(hook.Post())
	p.Budgets.DeadlineMs += durableTime(p)
	return p
}

// durableTime returns the maximum total time of the durable hooks of a plan, in milliseconds. It
// does not count the hooks at the closing stages, because they have a separate time limit.
func durableTime(p hook.Plan) (ms int64) {
	for _, step := range p.Pre {
		ms += step.DurableMs
	}
	// Of the stages in Execute, only onRetry and onGiveUp may have durable hooks. onRetry runs before each attempt except the first.
	for _, step := range p.Execute {
		ms += step.DurableMs * int64(max(p.MaxAttempts-1, 1))
	}
	for _, step := range p.Post {
		if step.Phase == hook.PhaseOutput {
			ms += step.DurableMs
		}
	}
	return ms
}

// laneOf returns the lane of a tool. A tool with an effect that needs a connection is in the regular
// lane, where the loss of the right to the connection cancels its attempt.
func laneOf(def toolspec.Definition) hook.Lane {
	switch {
	case !def.Fast || def.Timeout > toolspec.FastLimit:
		return hook.RegularLane
	case def.Effect == toolspec.ReadOnly:
		return hook.LocalLane
	case def.RequiresConnection:
		return hook.RegularLane
	}
	return hook.ClaimedLane
}
