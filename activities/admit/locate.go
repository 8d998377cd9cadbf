package admit

import (
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Locate returns a task queue whose workers have a tool that this worker lacks. It returns none if this worker
// has the tool by now, or if the call is on such a task queue already.
func (a *Admitter) Locate(ctx context.Context, in contract.LocateIn) (out contract.LocateOut, err error) {
	started := time.Now()
	if a.Workers == nil {
		return out, nil
	}
	if _, here := a.Tools.Get(in.ToolID); here {
		return out, nil
	}
	pools, err := a.Workers.PoolsOf(ctx, in.Namespace, in.ToolID)
	if err != nil {
		return out, err
	}
	// If known is false, the task queue of the call is not one of Pawl's, so no worker of Pawl polls it.
	own, known := toolspec.PoolOf(in.TaskQueue)
	isThere := known && slices.Contains(pools, own)
	if len(pools) > 0 && !isThere {
		out.TaskQueue = toolspec.PoolQueue(slices.Min(pools)) // the pool "", which is the shared queue, sorts first
	}
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}
