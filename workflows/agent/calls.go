package agent

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/pawlflow"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// runCalls runs the calls of a response and returns their results by index. It runs adjacent reads at the same time, up
// to the limit of the agent, and each call with an effect alone. ends says that a call that ends the run has succeeded.
// After that, or after the run was stopped, no further call starts. If isTurnOver is true, no call starts. joined are the
// indexes of the results that came from the activity Join, because the call existed already. These results may be forged:
// everybody with access to the namespace can complete an activity.
func (r *run) runCalls(ctx workflow.Context, calls []contract.AgentCall, isTurnOver bool) (results []toolspec.Result, joined []int, ends bool) {
	r.state.Phase = pawlagent.Calling
	results = make([]toolspec.Result, len(calls))
	slots := workflow.NewSemaphore(ctx, int64(r.open.AtOnce))
	for _, batch := range toolspec.Batches(len(calls), func(i int) bool { return calls[i].Alone || calls[i].Ends }) {
		all := workflow.NewWaitGroup(ctx)
		for _, i := range batch {
			if calls[i].ToolCallID == "" || calls[i].Same >= 0 {
				continue
			}
			all.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer all.Done()
				if slots.Acquire(steps.Disconnected(ctx), 1) != nil {
					return
				}
				defer slots.Release(1)
				if isTurnOver || ends || r.checkStop(ctx) != nil {
					results[i] = toolspec.Failure(toolspec.CodeCancelled, "The run stopped before this call started", nil)
					return
				}
				var isJoined bool
				if results[i], isJoined = r.invoke(ctx, calls[i]); isJoined {
					joined = append(joined, i)
				}
				ends = ends || calls[i].Ends && results[i].OK
			})
		}
		all.Wait(ctx)
	}
	return results, joined, ends
}

// invoke runs one call as a workflow of its own and returns its result. isJoined says that the call existed already, so
// the result came from the activity Join.
func (r *run) invoke(ctx workflow.Context, c contract.AgentCall) (result toolspec.Result, isJoined bool) {
	inv := toolspec.Invocation{
		ToolID: c.ToolID, ToolCallID: c.ToolCallID, Args: c.Args, Context: r.open.Context, AllowedConnectionIDs: r.open.Connections,
		Provider: c.Provider, SubmitterProof: r.open.SubmitterProof,
	}
	inv.Context.ConnectionID = c.ConnectionID
	started := pawlflow.Start(ctx, inv)
	open := pawlagent.OpenCall{ToolID: c.ToolID, ToolCallID: c.ToolCallID, InvocationID: started.InvocationID(), WorkflowID: started.WorkflowID()}
	r.state.Calls = append(r.state.Calls, open)
	result, err := started.Result(ctx)
	if err == nil && result.OK && c.ToolID == pawlagent.RunTool {
		r.runAgent(ctx, c.ToolCallID, open.InvocationID)
	}
	r.state.Calls = slices.DeleteFunc(r.state.Calls, func(o pawlagent.OpenCall) bool { return o.InvocationID == open.InvocationID })
	if err != nil {
		// Temporal could not start the call, or the workflow could not get its result. The call may have had an effect.
		return toolspec.Failure(toolspec.CodeOutcomeUnknown, "", nil), false
	}
	return result, started.IsJoined()
}
