package agent

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/internal/room"
	"github.com/pawl-run/pawl/workflows/contract"
)

// roomWait is how long a request waits while its tenant has as many requests as it may have at the same time
// (Agents.Requests). While the request waits, it counts as one of the concurrent activities of the worker. So the
// wait is short, and then Temporal runs the activity again later.
const roomWait = 100 * time.Millisecond

// enter waits up to roomWait until the tenant may have another request. leave must be called once. The error is contract.ErrBusy or the
// error of ctx.
func (a *Agents) enter(ctx context.Context, tenantID string) (leave func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	leave, err = a.room.Enter(waiting, room.Bound{Key: tenantID, Most: a.Requests})
	if err != nil && ctx.Err() == nil {
		err = contract.ErrBusy
	}
	return leave, err
}
