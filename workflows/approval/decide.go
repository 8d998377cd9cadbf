package approval

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/steps"
)

// Validate returns an error if the decision d, which came as an update, cannot count. The server stores nothing of
// such an update, and does not count it against the workflow's limit of updates. Validate must not change the call.
func (a *Approvals) Validate(ctx workflow.Context, d toolspec.Decision) error {
	if err := d.Check(); err != nil {
		return err
	}
	invocationID, _, _ := toolspec.SplitApprovalID(d.ApprovalID)
	if own := a.call.Admitted().InvocationID; own != "" && invocationID != own {
		return errors.New(foreignDecision)
	}
	if refused := a.inbox.validate(d, workflow.Now(ctx)); refused.reason != "" {
		return temporal.NewNonRetryableApplicationError(refused.reason, refused.kind, nil)
	}
	return nil
}

// Decide answers the update with the decision d. It waits until the main coroutine of the workflow has reviewed the
// decision. That coroutine reviews all decisions, so they count in the order of their arrival.
func (a *Approvals) Decide(ctx workflow.Context, d toolspec.Decision) (toolspec.Answer, error) {
	entry := a.inbox.add(d, true, workflow.Now(ctx))
	// A cancelled call still answers, after it is settled.
	if err := workflow.Await(steps.Disconnected(ctx), func() bool { return entry.reply != nil }); err != nil {
		return toolspec.Answer{}, err
	}
	return *entry.reply, nil
}

// Receive adds a decision that came as a signal. Answers returns its answer.
func (a *Approvals) Receive(ctx workflow.Context, d toolspec.Decision) {
	a.inbox.add(d, false, workflow.Now(ctx))
	a.warnDropped(ctx)
}

// Answers returns the last answers to signals, and the number of signals that the call dropped, because their
// decisions could not count.
func (a *Approvals) Answers() (last []toolspec.SignalAnswer, dropped int) {
	return a.inbox.answers(), a.inbox.dropped
}

// warnDropped warns people that the call drops decisions: in the log at the first drop, and in the details of the
// workflow after every drop while a request is open.
func (a *Approvals) warnDropped(ctx workflow.Context) {
	n := a.inbox.dropped
	if n == a.warned {
		return
	}
	if a.warned == 0 {
		workflow.GetLogger(ctx).Warn("a call drops decisions that cannot count: somebody sends it signals without a valid proof; "+
			"the state query counts them", "invocationId", a.call.Admitted().InvocationID)
	}
	a.warned = n
	if a.open != nil {
		workflow.SetCurrentDetails(ctx, a.details())
	}
}
