package agent

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/workflows/contract"
)

// roomWait is how long a request waits for room. It takes a place of the worker meanwhile, so roomWait is short: Temporal runs the activity
// again, and the place is free until then.
const roomWait = 100 * time.Millisecond

// enter waits up to roomWait for room for another request of a tenant. leave must be called once. The error is contract.ErrBusy or
// the error of ctx.
func (a *Agents) enter(ctx context.Context, tenantID string) (leave func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	leave, err = a.room.Enter(waiting, room.Bound{Key: tenantID, Most: a.Requests})
	if err != nil && ctx.Err() == nil {
		err = contract.ErrBusy
	}
	return leave, err
}
