package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// setStatus enters or leaves a wait, and tells the people who look.
func (c *call) setStatus(ctx workflow.Context, s toolspec.Status) {
	c.status = s
	workflow.SetCurrentDetails(ctx, c.details())
	c.upsert(disconnected(ctx), true)
}

// details says in Markdown why a call waits.
func (c *call) details() string {
	switch c.status {
	case toolspec.StatusWaitingApproval:
		return approvalDetails(c.pending)
	case toolspec.StatusRetrying:
		return fmt.Sprintf("**Retrying.** Attempt %d of `%s` failed; at most %d are made.", c.attempt, c.admitted.ToolID, c.plan.MaxAttempts)
	case toolspec.StatusWaitingCapacity:
		return fmt.Sprintf("**Waiting for capacity** of `%s`: %s.", c.admitted.ToolID, plain(c.awaits))
	case toolspec.StatusRunning, toolspec.StatusParkedUnknown, toolspec.StatusSettled:
	}
	return ""
}

func approvalDetails(v *toolspec.ApprovalView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Waiting for approval** of `%s` (%s, %s risk)\n\n", v.ToolID, v.Effect, v.Risk)
	if v.Message != "" {
		fmt.Fprintf(&b, "- why: %s\n", plain(v.Message))
	}
	fmt.Fprintf(&b, "- requested by: `%s`\n- who may decide: %s\n- approval id: `%s`\n- digest: `%s`\n\n",
		plain(v.RequestedBy), plain(v.Approvers), v.ApprovalID, v.Digest)
	b.WriteString("`pawl approvals` shows the arguments, `pawl approve` and `pawl deny` decide.\n")
	return b.String()
}

// plain keeps text from being read as Markdown or as anything but text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune("`*_[]<>|\\\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f", r) {
			return ' '
		}
		return r
	}, s)
}

// stageSummary is the line the UI shows beside the marker of a stage.
func stageSummary(step hook.Step) string {
	return string(step.Stage) + ": " + strings.Join(step.Hooks, ", ")
}
