package approval

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// askHooks asks the hooks which people must approve the current arguments. It returns the questions of these hooks, or
// how the call ends. ask is the question of the gate. If the plan of an older release asks no hooks before requests,
// and ask names approvers, the call ends: a worker of that release may continue the call, and would not ask these
// approvers.
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
	// A recheck runs no hooks, so it cannot see whether a hook still requires the approval. The approval stays
	// necessary if a hook of the gate asked for it, even a durable hook, which AskHooks does not run.
	a.hooksAsk = len(asks) > 0 || ask.Hook != ""
	return asks, next
}

// judgeWhileWaiting asks the gate again while the call waits for a person, and returns its
// verdict. Policy may now refuse the call, or let the call run without an approval. If no worker
// can judge the call, the verdict asks for an approval, so that the call continues to wait.
func (a *Approvals) judgeWhileWaiting(ctx workflow.Context) envelope.Verdict {
	a.call.ResumeDeadline(ctx) // so that the wait so far does not use up the gate's time
	defer a.call.PauseDeadline(ctx)
	verdict := a.parts.Rejudge(ctx)
	if a.call.TakeUnjudged() {
		return envelope.Verdict{Ask: &hook.Ask{}}
	}
	return verdict
}
