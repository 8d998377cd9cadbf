package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// reasoningTool is the tool that reads what keepReasoning keeps.
const reasoningTool = "core__read_reasoning"

// keepReasoning keeps the reasoning of a round for the later rounds, if the agent has the tool that reads it. A run with a
// parent keeps none, because its calls are calls of the parent's run. A repeated call for the same round changes nothing.
// Reasoning that memory refuses is not kept: it has the shape of a credential, or the memory is full.
func (a *Agents) keepReasoning(ctx context.Context, of contract.AgentRun, round Round) error {
	text := wire.Reasoning(round.Plan.Message)
	if text == "" || a.Reason == nil {
		return nil
	}
	run, err := a.Store.AgentRun(ctx, of)
	if err != nil || run.Parent != nil || !slices.Contains(tools(run), reasoningTool) {
		return err
	}
	text, _ = cutTo(text, capability.MaxMemoryEntry)
	key := fmt.Sprintf("reasoning of round %d of %s", round.Round, of.RunID)
	_, err = a.Reason(ctx, capability.MemoryCallerOf(toolspec.Call{Context: run.Input.Context, IdempotencyKey: key}), text)
	var refused *capability.MemoryError
	if errors.As(err, &refused) {
		a.Log.WarnContext(ctx, "the reasoning of a model was not kept", "workflowId", contract.Executing(ctx).WorkflowID, "round", round.Round, "reason", refused.Error())
		return nil
	}
	return err
}
