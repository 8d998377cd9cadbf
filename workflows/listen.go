package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// listen puts up the query, the update and the signals of a call, before its
// first command.
func (c *call) listen(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, toolspec.StateName, c.state,
		workflow.QueryHandlerOptions{Description: "where the call stands, without raw arguments"})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, toolspec.DecideName, c.decide, workflow.UpdateHandlerOptions{
		Validator:   c.validate,
		Description: "decide on an approval request",
	})
	if err != nil {
		return err
	}
	decisions := workflow.GetSignalChannelWithOptions(ctx, toolspec.DecideName,
		workflow.SignalChannelOptions{Description: "decide on an approval request"})
	rechecks := workflow.GetSignalChannelWithOptions(ctx, toolspec.RecheckName,
		workflow.SignalChannelOptions{Description: "policy, grant or capacity changed; look again"})
	workflow.GoNamed(ctx, "signals", func(ctx workflow.Context) {
		selector := workflow.NewNamedSelector(ctx, "signals")
		selector.AddReceive(decisions, func(ch workflow.ReceiveChannel, _ bool) {
			// What does not decode is dropped by the SDK; waiting for the next one
			// here would hold up the rechecks.
			var d toolspec.Decision
			if ch.ReceiveAsync(&d) {
				c.inbox.put(d)
			}
		})
		selector.AddReceive(rechecks, func(ch workflow.ReceiveChannel, _ bool) {
			ch.ReceiveAsync(nil)
			c.inbox.looks++
		})
		for {
			selector.Select(ctx)
		}
	})
	return nil
}

// validate refuses the malformed, oversized and unknown; nothing of them is
// written. It must not change the call.
func (c *call) validate(_ workflow.Context, d toolspec.Decision) error {
	if err := d.Check(); err != nil {
		return err
	}
	invocationID, _, _ := toolspec.SplitApprovalID(d.ApprovalID)
	if own := c.admitted.InvocationID; own != "" && invocationID != own {
		return errors.New(foreignLetter)
	}
	return nil
}

// decide answers once the decision has been verified and recorded. It waits for
// the main flow, so that decisions count in the order they came.
func (c *call) decide(ctx workflow.Context, d toolspec.Decision) (toolspec.Answer, error) {
	l := c.inbox.put(d)
	// A cancelled call still answers, once it is settled.
	if err := workflow.Await(disconnected(ctx), func() bool { return l.reply != nil }); err != nil {
		return toolspec.Answer{}, err
	}
	return *l.reply, nil
}

// state answers the query.
func (c *call) state() (toolspec.State, error) {
	s := toolspec.State{
		Status: c.status, Stage: c.stage, InputDigest: c.admitted.InputDigest,
		Approval: c.pending, Waiting: c.awaits, Attempts: c.attempt,
	}
	if c.admitted.Plan != nil {
		s.Plan = &toolspec.PlanSummary{
			ToolDigest: c.toolDigest, PolicyDigest: c.policyDigest,
			Lane: string(c.plan.Lane), Stages: c.plan.Stages(),
		}
	}
	return s, nil
}
