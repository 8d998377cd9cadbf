package approval

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// askHooks returns the questions of the hooks about the current arguments. With a plan that asks no
// hooks before requests, a question that names approvers ends the call: a worker of the version
// that made the plan may continue the call, and would not ask the approvers that the hook named.
func (a *Approvals) askHooks(ctx workflow.Context, ask hook.Ask) ([]hook.Ask, envelope.Next) {
	if !a.parts.HasApproverHooks() {
		switch {
		case ask.Approvals.Names():
			return nil, envelope.FailWith(toolspec.CodeApprovalStale, "a hook names approvers, and the call began before it did: make the call again")
		case ask.Approvals == nil:
			return nil, envelope.Next{}
		}
		return []hook.Ask{ask}, envelope.Next{}
	}
	asks, next := a.parts.AskHooks(ctx)
	// A recheck runs no hook, not even a hook that asked in the gate and that AskHooks does not
	// ask, such as a durable hook.
	a.hooksAsk = len(asks) > 0 || ask.Hook != ""
	return asks, next
}

// stillAsked asks the gate again while the call waits for a person, and returns its
// verdict. Policy may now refuse the call, or let the call run without an approval. If no worker
// can judge the call, it stays asked.
func (a *Approvals) stillAsked(ctx workflow.Context) envelope.Verdict {
	a.call.ResumeDeadline(ctx) // so that the wait so far does not use up the gate's time
	defer a.call.PauseDeadline(ctx)
	verdict := a.parts.Rejudge(ctx)
	if a.call.TakeUnjudged() {
		return envelope.Verdict{Ask: &hook.Ask{}}
	}
	return verdict
}
