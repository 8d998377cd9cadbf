package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// changed follows a deploy that replaced the tool under a running call: the
// arguments are validated against the new one, and the gate judges it.
func (c *call) changed(ctx workflow.Context) *ending {
	if c.approval != nil {
		end := failed(&hook.Failure{Code: toolspec.CodeApprovalStale, Details: c.approvalDetails()})
		return &end
	}
	return c.judgeAgain(ctx)
}

// takeCare follows a tool that became worse than the plan knows it: more harmful,
// or no longer to be repeated. The recorded lane was chosen for what it was; the
// careful one is right for every tool, and one attempt for every effect. A tool
// that became better changes nothing for calls in flight.
func (c *call) takeCare(out HydrateOut) {
	lapsed := c.plan.Repeatable && out.Repeatable != nil && !*out.Repeatable
	if lapsed || harm(out.Effect) > harm(c.plan.Effect) {
		c.plan.Lane, c.plan.Repeatable, c.plan.MaxAttempts = hook.RegularLane, false, 1
	}
}

// harm orders effects; one that this version does not know may do anything.
func harm(e toolspec.Effect) int {
	known := []toolspec.Effect{toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect}
	if i := slices.Index(known, e); i >= 0 {
		return i
	}
	return len(known)
}
