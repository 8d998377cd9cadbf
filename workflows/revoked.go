package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// CauseRevoked says that the attempt was cancelled, because what it ran on was taken back.
const CauseRevoked toolspec.Code = "revoked"

// watched runs an attempt, and asks the gate meanwhile where somebody says that
// things have changed: an attempt that uses a connection does not go on without
// the right to. What the tool answers all the same is its answer.
func (c *call) watched(ctx workflow.Context, in ExecuteIn, options workflow.ActivityOptions) (out ExecuteOut, err error) {
	if c.connection == nil {
		return regular(ctx, Execute, in, options)
	}
	running, cancel := workflow.WithCancel(ctx)
	defer cancel()
	attempt, err := begin(running, Execute, in, options)
	if err != nil {
		return out, err
	}
	steady := disconnected(ctx)
	for c.revoked == nil {
		if err := workflow.Await(steady, func() bool { return attempt.IsReady() || c.inbox.looks > 0 }); err != nil || attempt.IsReady() {
			break
		}
		c.inbox.looks = 0
		if c.revoked = c.denied(steady); c.revoked != nil {
			cancel()
		}
	}
	err = attempt.Get(steady, &out)
	return out, err
}

// denied asks the gate whether the call may run at all, as things stand now.
func (c *call) denied(ctx workflow.Context) *hook.Failure {
	step, ok := c.plan.Step(hook.WillAuthorize.Stage())
	if !ok || c.lookAgain(ctx) != nil {
		return nil // the attempt's own end will find out
	}
	v := c.runStage(ctx, step, c.rounds.Gate)
	c.stage = nameExecute
	if v.Outcome == hook.Failed && v.Failure != nil && slices.Contains(verdicts, v.Failure.Code) {
		return v.Failure
	}
	return nil
}

// verdicts are how a gate says no. Any other failure of it is its own.
var verdicts = []toolspec.Code{toolspec.CodePolicyDenied, toolspec.CodeAuthzDenied, toolspec.CodeNeedsReauth}
