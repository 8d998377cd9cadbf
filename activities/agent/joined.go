package agent

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows/contract"
)

// verifyJoined replaces the results that came from the activity Join (in.Joined) by the results in the record,
// because everybody with access to the namespace can complete that activity. A worker returns a value only for a
// settled call. So a value for a call that is not settled is forged.
func (a *Agents) verifyJoined(ctx context.Context, in contract.AgentAnswerIn, round Round) error {
	if len(in.Joined) == 0 {
		return nil
	}
	run, err := a.Store.AgentRun(ctx, in.Run)
	if err != nil {
		return err
	}
	for _, i := range in.Joined {
		if in.Results[i], err = a.recordedResult(ctx, invocationOf(in.Run, run, round.Plan.Calls[i].Call), in.Results[i]); err != nil {
			return err
		}
	}
	return nil
}

// invocationOf returns the invocation that the workflow of a run starts for a call, without the proof of the submitter, which the input
// digest does not cover.
func invocationOf(of contract.AgentRun, run Run, c contract.AgentCall) toolspec.Invocation {
	open := opened(of, run)
	inv := toolspec.Invocation{ToolID: c.ToolID, ToolCallID: c.ToolCallID, Args: c.Args, Context: open.Context, AllowedConnectionIDs: open.Connections, Provider: c.Provider}
	inv.Context.ConnectionID = c.ConnectionID
	return inv
}

// recordedResult returns the result of a call from the record. given is the result that the activity Join returned.
func (a *Agents) recordedResult(ctx context.Context, inv toolspec.Invocation, given toolspec.Result) (toolspec.Result, error) {
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		return given, err
	}
	id := inv.Identity()
	call, err := a.Client.Call(ctx, inv.Context.TenantID, id.InvocationID())
	isMissing := errors.Is(err, client.ErrNotFound)
	switch {
	case err != nil && !isMissing:
		return given, err
	case isMissing && !given.OK:
		return given, nil // the workflow with this id is not a call
	case !isMissing && call.InputDigest != digest:
		return failed(id, toolspec.CodeConflict), nil
	case !isMissing && call.Result != nil:
		return *call.Result, nil
	case given.ErrorCode == toolspec.CodeOutcomeUnknown:
		return failed(id, toolspec.CodeOutcomeUnknown), nil // its workflow was ended from outside, and no sweep has settled the call yet
	}
	a.Log.ErrorContext(ctx, "a result that no worker has given was refused: somebody completed the activity through the Temporal API",
		"activity", contract.Join.Name(), "invocationId", id.InvocationID(), "tenantId", id.TenantID)
	return failed(id, toolspec.CodeOutcomeUnknown), nil
}

func failed(id toolspec.Identity, code toolspec.Code) toolspec.Result {
	result := toolspec.Failure(code, "", nil)
	result.ToolCallID, result.InvocationID = id.ToolCallID, id.InvocationID()
	return result
}
