package activities

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// killed is how a call ends that a kill switch stops. The reason, where it is
// known, is for the caller.
func killed(reason string) *hook.Failure {
	message := "a kill switch stops this call"
	if reason != "" {
		message += ": " + reason
	}
	return &hook.Failure{Code: toolspec.CodePolicyDenied, SafeMessage: message, Details: &toolspec.Details{Rule: "kill switch"}}
}

// stopped is the verdict of a gate stage that a kill switch closes, or nil. It
// stands ahead of every hook and of every plan: no approval and no policy lifts it.
func (a *Activities) stopped(ctx context.Context, in hook.StageInput) *hook.Verdict {
	if in.Stage != hook.WillAuthorize.Stage() && in.Stage != hook.WillCheckConsent.Stage() {
		return nil
	}
	kill := in.Facts.Killed()
	if kill == nil {
		return nil
	}
	f, c := in.Facts, in.Facts.Context
	a.log.WarnContext(ctx, "a kill switch stopped a call", "switch", kill.ID, "toolId", f.ToolID, "toolCallId", f.ToolCallID,
		"invocationId", f.InvocationID, "tenantId", c.TenantID, "runId", c.RunID)
	return &hook.Verdict{
		Outcome: hook.Failed, Failure: killed(kill.Reason), By: "kill switch", Delta: hook.Delta{Rule: "kill switch"},
	}
}
