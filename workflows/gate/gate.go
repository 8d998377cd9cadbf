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
	return judge(ctx, c, c.RunStage, stages...)
}

// Rejudge runs Authorize and Consent while the call waits for an approval, or after an edit of
// the arguments. It runs no hooks at Consent if the plan hears them before each request: Hear
// asks them, and their answer counts for the whole wait.
func Rejudge(ctx workflow.Context, c *envelope.Call) envelope.Verdict {
	return judge(ctx, c, func(ctx workflow.Context, step hook.Step, round int) hook.Verdict {
		if len(step.Heard) > 0 {
			return c.RunOwnStep(ctx, step, round)
		}
		return c.RunStage(ctx, step, round)
	}, Authorize, Consent)
}

// Hears reports whether the plan hears hooks before each request for an approval.
func Hears(c *envelope.Call) bool {
	step, ok := c.Plan().Step(Consent)
	return ok && len(step.Heard) > 0
}

// Hear asks the hooks that the plan names whom a request for an approval needs, in a new round
// of the gate. It returns the questions of all of them, or the end of the call. The caller must have
// checked Hears.
func Hear(ctx workflow.Context, c *envelope.Call) ([]hook.Ask, envelope.Next) {
	step, _ := c.Plan().Step(Consent)
	c.NextGate()
	v := c.HearHooks(ctx, step, c.Rounds().Gate)
	return v.Asks, c.NextAfter(ctx, v, Consent)
}

func judge(
	ctx workflow.Context, c *envelope.Call, run func(workflow.Context, hook.Step, int) hook.Verdict, stages ...hook.Stage,
) envelope.Verdict {
	var verdict envelope.Verdict
	for _, stage := range stages {
		step, ok := c.Plan().Step(stage)
		if !ok {
			continue
		}
		v := run(ctx, step, c.Rounds().Gate)
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
