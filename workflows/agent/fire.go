package agent

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// Fire is the workflow FireTrigger: the schedule of a trigger starts it at each of its times. Fire starts a run of an agent
// and does not wait for the end of this run.
func Fire(ctx workflow.Context, in contract.FireTrigger) (contract.TriggerFireOut, error) {
	at, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(temporal.NewSearchAttributeKeyTime(contract.ScheduledAt))
	if !ok {
		return contract.TriggerFireOut{Refused: "no schedule has started this workflow"}, nil
	}
	return steps.Local(ctx, contract.TriggerFire, contract.TriggerFireIn{FireTrigger: in, At: at.UnixMilli()}, steps.Options("start the run", contract.FireTime))
}
