package agent

import (
	"context"
	"errors"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// EndLost ends a run whose workflow has ended without ending the run. A run that has a result keeps it. While a call of the run is open,
// EndLost cannot tell the watchers that the run has ended. It then returns false or, if late is true, ends the run without telling them.
func (a *Agents) EndLost(ctx context.Context, of contract.AgentRun, end contract.AgentEnd, late bool) (ended bool, err error) {
	in := contract.AgentCloseIn{Run: of, End: end}
	_, err = a.close(ctx, in, late)
	switch {
	case errors.Is(err, client.ErrRunOpen):
		return false, nil
	case err == nil || errs.IsTransient(err) || ctx.Err() != nil || errors.Is(err, ErrNotFound):
		return err == nil, err
	}
	// The record of the run cannot be read. The run must still end, because it may have reserved tokens or money of its parent.
	a.Log.WarnContext(ctx, "a run ends without its last text: its record cannot be read", "reason", errs.Reason(err))
	if err := a.tellEnd(ctx, in, late); err != nil {
		return false, err
	}
	_, err = a.Store.CloseAgentRun(ctx, of, pawlagent.Result{Outcome: end.Outcome, Reason: end.Reason}, "")
	return err == nil, err
}
