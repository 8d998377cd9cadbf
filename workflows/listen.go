package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// listen registers the handlers for the query, the update and the signals of a call. It
// must run before the first command of the workflow.
func (i *invocation) listen(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, toolspec.StateName, i.state,
		workflow.QueryHandlerOptions{Description: "where the call stands, without raw arguments"})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, toolspec.DecideName, i.approvals.Decide, workflow.UpdateHandlerOptions{
		Validator:   i.approvals.Validate,
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
			// The SDK drops a signal that does not decode. A blocking Receive would then wait here for the next
			// decision, and no recheck would be received meanwhile.
			var d toolspec.Decision
			if ch.ReceiveAsync(&d) {
				i.approvals.Receive(ctx, d)
			}
		})
		selector.AddReceive(rechecks, func(ch workflow.ReceiveChannel, _ bool) {
			ch.ReceiveAsync(nil)
			i.RequestRecheck()
		})
		for {
			selector.Select(ctx)
		}
	})
	return nil
}

// state answers the state query: where the call is now and what it waits for, without raw arguments.
func (i *invocation) state() (toolspec.State, error) {
	answers, dropped := i.approvals.Answers()
	s := toolspec.State{
		Status: i.Status(), Stage: i.Stage(), InputDigest: i.Admitted().InputDigest,
		Approval: i.approvals.OpenRequest(), Waiting: i.WaitsFor(), Attempts: i.Attempt(),
		Dropped: dropped, Answers: answers,
	}
	if i.Admitted().Plan != nil {
		s.Plan = &toolspec.PlanSummary{
			ToolDigest: i.ToolDigest(), PolicyDigest: i.PolicyDigest(),
			Lane: string(i.Plan().Lane), Stages: i.Plan().Stages(),
		}
	}
	return s, nil
}
