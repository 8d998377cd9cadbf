package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// move returns the error that ends this run and continues the call on another task queue. The new run works as
// a run after a reset: it finds the record of the call, raises the epoch, and asks the gate again. This run
// passes on only the data that the record does not hold: see contract.Moved.
//
// If a signal arrives before the server has taken the end of this run, the server refuses the end. The
// workflow task then runs again with the signal.
func (i *invocation) move(ctx workflow.Context) error {
	// Receive the decisions that the coroutine "signals" has not received yet. No recheck is passed on,
	// because the new run reads everything again.
	decisions := workflow.GetSignalChannel(ctx, toolspec.DecideName)
	for {
		var d toolspec.Decision
		if !decisions.ReceiveAsync(&d) {
			break
		}
		i.approvals.Receive(ctx, d)
	}
	moved, err := contract.Encode(i.Moved(i.approvals.Carried()))
	if err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(workflow.WithWorkflowTaskQueue(ctx, i.MovesTo()), toolspec.WorkflowType, i.Raw(), moved)
}
