package agent

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// Fire is the workflow that a schedule of a trigger starts at each of its times. It starts the run of this time and
// does not wait for its end.
func Fire(ctx workflow.Context, in contract.FireTrigger) (contract.TriggerFireOut, error) {
	at, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(temporal.NewSearchAttributeKeyTime(contract.ScheduledAt))
	if !ok {
		return contract.TriggerFireOut{Refused: "no schedule has started this workflow"}, nil
	}
	return steps.Local(ctx, contract.TriggerFire, contract.TriggerFireIn{FireTrigger: in, At: at.UnixMilli()}, steps.Options("start the run", contract.FireTime))
}
