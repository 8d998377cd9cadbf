package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// move returns the ContinueAsNewError that ends this run and starts the next run on another task queue. The next run
// works as a run after a reset: it finds the record of the call, raises the epoch, and asks the gate again. This run
// passes on only the data that the record does not hold: see contract.Moved.
//
// No signal is lost: if a signal arrives before the server has accepted the end of this run, the server refuses the
// end, and the workflow task runs again with the signal.
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
