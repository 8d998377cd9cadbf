package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// move returns the error that ends this run and continues the call on another task queue. The new run is as
// one after a reset: it finds the record of the call, raises its epoch, and asks the gate again. Only what
// the record does not hold goes along. See contract.Moved.
//
// A signal that the server has before this task ends makes the server refuse the end, and the task runs
// again with the signal.
func (i *invocation) move(ctx workflow.Context) error {
	// The coroutine of the signals may not have run since the last signal arrived. A recheck does not go
	// along, because the new run reads everything again.
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
