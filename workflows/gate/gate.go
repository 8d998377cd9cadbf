package gate

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// The stages of the gate.
var (
	Authorize = hook.WillAuthorize.Stage()
	Consent   = hook.WillCheckConsent.Stage()
)

// Judge runs stages of the gate in order and returns the verdict. It skips a stage that
// the plan does not have, and stops at a stage that ends the call. A stage that asks for
// a person does not stop it; if several stages ask, the last question counts. The caller must
// have begun a new round of the gate (NextGate) before it calls Judge.
func Judge(ctx workflow.Context, c *envelope.Call, stages ...hook.Stage) envelope.Verdict {
	var verdict envelope.Verdict
	for _, stage := range stages {
		step, ok := c.Plan().Step(stage)
		if !ok {
			continue
		}
		v := c.RunStage(ctx, step, c.Rounds().Gate)
		if v.Outcome == hook.Asked {
			verdict.Ask = v.Ask
			continue
		}
		if verdict.Next = c.NextAfter(ctx, v, stage); verdict.IsEnd() {
			return verdict
		}
	}
	return verdict
}

// Denial runs willAuthorize while the tool runs, and returns the failure with which the
// gate refuses the call. It returns nil if the call may go on, or if the gate itself
// failed.
func Denial(ctx workflow.Context, c *envelope.Call, authorize hook.Step) *hook.Failure {
	v := c.RunStage(ctx, authorize, c.Rounds().Gate)
	if v.Outcome == hook.Failed && v.Failure != nil && slices.Contains(denials, v.Failure.Code) {
		return v.Failure
	}
	return nil
}

// denials are the codes with which the gate refuses a call. With any other code the gate
// itself failed.
var denials = []toolspec.Code{toolspec.CodePolicyDenied, toolspec.CodeAuthzDenied, toolspec.CodeNeedsReauth}
