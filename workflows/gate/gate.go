package gate

import (
	"fmt"
	"slices"
	"time"

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
// the plan does not have, and stops after a stage that ends the call. It continues after a stage
// that asks for an approval; if several stages ask, the verdict has the question of the last one. If a hook
// answers "wait until this time", Judge waits and runs all stages again. The caller must call NextGate before it
// calls Judge, to begin a new round of the gate.
func Judge(ctx workflow.Context, c *envelope.Call, stages ...hook.Stage) envelope.Verdict {
	for {
		verdict, until := judge(ctx, c, c.RunStage, stages...)
		if until == nil {
			return verdict
		}
		if next := Wait(ctx, c, *until); next.IsEnd() {
			return envelope.Verdict{Next: next}
		}
	}
}

// Wait waits until the time that a hook has named, or until a recheck arrives. It then reads the gate state again,
// which begins a new round of the gate. The deadline of the call does not count the wait. Wait returns how the call
// ends, or the zero Next.
func Wait(ctx workflow.Context, c *envelope.Call, w hook.Wait) envelope.Next {
	until := time.UnixMilli(w.UntilMs).UTC()
	c.EnterWait(ctx, w.Reason, fmt.Sprintf("**Waiting** until %s: %s.", until.Format(time.RFC3339), envelope.PlainText(w.Reason)))
	c.PauseDeadline(ctx)
	err := c.AwaitRecheck(ctx, max(until.Sub(workflow.Now(ctx)), shortestWait), "a hook has named this time")
	c.ResumeDeadline(ctx)
	c.LeaveWait(ctx)
	if err != nil || ctx.Err() != nil {
		return envelope.Fail(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	return c.ReadGateState(ctx)
}

// shortestWait is the shortest time that the call waits after a hook asks it to wait. Without it,
// a hook that always asks to wait until now would make a busy loop.
const shortestWait = time.Second

// Rejudge runs Authorize and Consent while the call waits for an approval, or after an edit of the
// arguments. If the plan asks the hooks at Consent before each request, Rejudge does not run them:
// AskApproverHooks asks them, and their answer counts for the whole wait. Rejudge ignores a hook that
// answers "wait until this time": Judge, which runs before the tool, waits until then.
func Rejudge(ctx workflow.Context, c *envelope.Call) envelope.Verdict {
	verdict, _ := judge(ctx, c, func(ctx workflow.Context, step hook.Step, round int) hook.Verdict {
		if len(step.ApproverHooks) > 0 {
			return c.RunOwnStep(ctx, step, round)
		}
		return c.RunStage(ctx, step, round)
	}, Authorize, Consent)
	return verdict
}

// HasApproverHooks reports whether the plan asks hooks before each request for an approval.
func HasApproverHooks(c *envelope.Call) bool {
	step, ok := c.Plan().Step(Consent)
	return ok && len(step.ApproverHooks) > 0
}

// AskApproverHooks runs the approver hooks of the plan, in a new round of the gate. They say which people must
// approve. It returns the questions of all these hooks, or the end of the call. The caller must have checked
// HasApproverHooks.
func AskApproverHooks(ctx workflow.Context, c *envelope.Call) ([]hook.Ask, envelope.Next) {
	step, _ := c.Plan().Step(Consent)
	for {
		c.NextGate()
		v := c.RunApproverHooks(ctx, step, c.Rounds().Gate)
		if v.Outcome != hook.Waited {
			return v.Asks, c.NextAfter(ctx, v, Consent)
		}
		if next := Wait(ctx, c, *v.Wait); next.IsEnd() {
			return nil, next
		}
	}
}

// judge runs stages of the gate in order and returns the verdict. until is the first time that a hook has named; nil if
// no hook named a time, or if the call ends.
func judge(
	ctx workflow.Context, c *envelope.Call, run func(workflow.Context, hook.Step, int) hook.Verdict, stages ...hook.Stage,
) (verdict envelope.Verdict, until *hook.Wait) {
	for _, stage := range stages {
		step, ok := c.Plan().Step(stage)
		if !ok {
			continue
		}
		v := run(ctx, step, c.Rounds().Gate)
		switch v.Outcome {
		case hook.Asked:
			verdict.Ask = v.Ask
			continue
		case hook.Waited:
			if until == nil {
				until = v.Wait
			}
			continue
		default:
		}
		if verdict.Next = c.NextAfter(ctx, v, stage); verdict.IsEnd() {
			return verdict, nil
		}
	}
	return verdict, until
}

// Denial runs willAuthorize again while the tool of the call runs. It returns the failure with which the gate
// refuses the call, or nil if the call may go on or the gate itself failed.
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
