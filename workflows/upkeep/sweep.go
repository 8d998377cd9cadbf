package upkeep

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// SweepType is the type of the workflow of the sweeper. A Temporal Schedule starts it repeatedly.
	SweepType = "Sweep"
	// SweepID is the id of the schedule. The id of each workflow is SweepID with a time as suffix.
	SweepID = "pawl-sweep"
)

// SweepOut is the result of the workflow Sweep.
type SweepOut struct {
	Calls   contract.SweepCallsOut  `json:"calls"`
	Expired contract.DropExpiredOut `json:"expired"`
	// Failed names the activities that failed. The next run tries them again.
	Failed []string `json:"failed,omitempty"`
}

// Sweep settles calls whose workflow was terminated, timed out or deleted, creates the
// partitions of the coming months and deletes data past its retention. If one of these
// activities fails, the others still run. Sweep returns an error only if it is cancelled.
func Sweep(ctx workflow.Context) (SweepOut, error) {
	var out SweepOut
	noteFailure := func(name string, err error) {
		if err != nil {
			out.Failed = append(out.Failed, name)
		}
	}
	var err error
	out.Calls, err = steps.Regular(ctx, contract.SweepCalls, contract.SweepCallsIn{}, sweepOptions("settle calls whose workflow is over"))
	noteFailure(contract.SweepCalls.Name(), err)
	_, err = steps.Regular(ctx, contract.KeepPartitions, contract.KeepPartitionsIn{}, sweepOptions("make the partitions of the months to come"))
	noteFailure(contract.KeepPartitions.Name(), err)
	out.Expired, err = steps.Regular(ctx, contract.DropExpired, contract.DropExpiredIn{}, sweepOptions("delete what is past its retention"))
	noteFailure(contract.DropExpired.Name(), err)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, nil
}

// sweepOptions returns the options of an activity. The server retries it for at most ten
// minutes; the next run of Sweep does the rest.
func sweepOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    5 * time.Minute,
		ScheduleToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:       steps.HeartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
		},
		Summary: summary,
	}
}
