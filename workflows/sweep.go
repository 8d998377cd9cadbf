package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The activities of the sweeper.
var (
	SweepCalls     = Activity[SweepCallsIn, SweepCallsOut]{nameSweepCalls}
	KeepPartitions = Activity[KeepPartitionsIn, KeepPartitionsOut]{nameKeepPartitions}
	DropExpired    = Activity[DropExpiredIn, DropExpiredOut]{nameDropExpired}
)

// SweepCallsIn asks for the calls of a namespace whose workflow is over.
type SweepCallsIn struct {
	Namespace string `json:"namespace"`
}

// SweepCallsOut counts the calls that were open, and what became of them.
type SweepCallsOut struct {
	Open    int `json:"open"`
	Running int `json:"running"`
	// MovedOn counts those that somebody else settled or took up meanwhile.
	MovedOn int `json:"movedOn,omitempty"`
	// Unclear counts those of whose workflow Temporal says nothing.
	Unclear        int `json:"unclear,omitempty"`
	Cancelled      int `json:"cancelled,omitempty"`
	TimedOut       int `json:"timedOut,omitempty"`
	Internal       int `json:"internal,omitempty"`
	OutcomeUnknown int `json:"outcomeUnknown,omitempty"`
}

// Swept counts the calls that the sweeper settled.
func (o SweepCallsOut) Swept() int { return o.Cancelled + o.TimedOut + o.Internal + o.OutcomeUnknown }

// KeepPartitionsIn asks for the partitions of the months to come.
type KeepPartitionsIn struct{}

// KeepPartitionsOut says nothing yet.
type KeepPartitionsOut struct{}

// DropExpiredIn asks for the end of what is past its retention.
type DropExpiredIn struct{}

// DropExpiredOut counts what was deleted.
type DropExpiredOut struct {
	RetentionDays int `json:"retentionDays"`
	Calls         int `json:"calls"`
	Rows          int `json:"rows"`
	// Cached counts values of the result cache.
	Cached     int `json:"cached,omitempty"`
	Partitions int `json:"partitions"`
	// Busy counts partitions that were in use.
	Busy int `json:"busy,omitempty"`
	// Unfinished says that there is more for the next run.
	Unfinished bool `json:"unfinished,omitempty"`
}

// SweepOut is the result of the workflow Sweep.
type SweepOut struct {
	Calls   SweepCallsOut  `json:"calls"`
	Expired DropExpiredOut `json:"expired"`
	// Failed names the activities that gave up; the next run tries again.
	Failed []string `json:"failed,omitempty"`
}

// Sweep takes care of what no call takes care of itself: calls whose workflow
// was terminated, timed out or deleted, and the months of the record. One part
// that fails does not keep the others from their work.
func Sweep(ctx workflow.Context) (SweepOut, error) {
	var out SweepOut
	try := func(name string, err error) {
		if err != nil {
			out.Failed = append(out.Failed, name)
		}
	}
	var err error
	out.Calls, err = regular(ctx, SweepCalls, SweepCallsIn{Namespace: workflow.GetInfo(ctx).Namespace}, sweepOptions("settle calls whose workflow is over"))
	try(nameSweepCalls, err)
	_, err = regular(ctx, KeepPartitions, KeepPartitionsIn{}, sweepOptions("make the partitions of the months to come"))
	try(nameKeepPartitions, err)
	out.Expired, err = regular(ctx, DropExpired, DropExpiredIn{}, sweepOptions("delete what is past its retention"))
	try(nameDropExpired, err)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, nil
}

// sweepOptions repeats an activity for a while: what is away then is left to the
// next run.
func sweepOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    5 * time.Minute,
		ScheduleToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
		},
		Summary: summary,
	}
}
