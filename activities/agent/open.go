package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Open reads the input of a run, and records the run if it is new. It returns what the workflow needs to continue: among others the
// round, the tools and the deadline. If the run cannot start or has ended before, it returns the result of the run instead.
func (a *Agents) Open(ctx context.Context, in contract.AgentOpenIn) (contract.AgentOpenOut, error) {
	input, err := pawlagent.ReadInput(in.Input)
	if err != nil {
		return refused("the run cannot start: " + err.Error()), nil //nolint:nilerr // the result of the run has the error
	}
	of := contract.AgentRun{TenantID: input.Context.TenantID, RunID: input.Context.RunID}
	if contract.Executing(ctx).WorkflowID != pawlagent.WorkflowID(of.TenantID, of.RunID) {
		return refused("the run cannot start: the id of its workflow must be " + pawlagent.WorkflowID(of.TenantID, of.RunID)), nil
	}
	digest, err := input.Digest()
	if err != nil {
		return contract.AgentOpenOut{}, err
	}
	run, err := a.Store.AgentRun(ctx, of)
	if input.Parent != nil {
		// The call has written the run, with all of its input, so it does not matter who has started the workflow.
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && (run.Parent == nil || *run.Parent != *input.Parent):
			return refused("the run cannot start: no call of " + pawlagent.RunTool + " has made it"), nil
		case err != nil:
			return contract.AgentOpenOut{}, err
		case a.isElsewhere(run):
			return refused(elsewhere), nil
		}
		return opened(of, run), nil
	}
	if errors.Is(err, ErrNotFound) {
		document, missing := a.Document(ctx, input.Agent, input.Version)
		if errors.Is(missing, ErrNotFound) {
			return refused("the run cannot start: there is no such agent or version, or it is retired; see `pawl agent list`"), nil
		}
		if missing != nil {
			return contract.AgentOpenOut{}, missing
		}
		var reason string
		if run, reason, err = a.begin(ctx, NewRun{Run: of, Namespace: a.Namespace, InputDigest: digest, Document: document, Input: input}); err == nil && reason != "" {
			return refused(reason), nil
		}
	}
	if err != nil {
		return contract.AgentOpenOut{}, err
	}
	if a.isElsewhere(run) {
		return refused(elsewhere), nil
	}
	if run.InputDigest != digest {
		return refused("another input has run under the id of this run: give each run an id of its own"), nil
	}
	return opened(of, run), nil
}

const elsewhere = "a run of another namespace, whose workers share the database, has the id of this run: give each run an id of its own"

// isElsewhere reports whether the workflow of a run is in another namespace, whose workers share the database.
func (a *Agents) isElsewhere(run Run) bool {
	return run.Namespace != "" && run.Namespace != a.Namespace
}

// opened returns the answer of Open for a recorded run: its result if it has ended, and what the workflow needs to
// continue it.
func opened(of contract.AgentRun, run Run) contract.AgentOpenOut {
	out := contract.AgentOpenOut{
		Run: of, Result: run.Result, Context: run.Input.Context, SubmitterProof: run.Input.SubmitterProof, Stays: run.Input.Stays,
		HasFallback: run.Document.Fallback != nil, AtOnce: max(run.Document.Limits.AtOnce, 1), Round: max(run.Round, 1), Said: run.Said,
		EndsAtMs: run.OpenedAt.Add(time.Duration(run.Document.Limits.Seconds) * time.Second).UnixMilli(),
	}
	out.Context.ToolIDs = tools(run)
	for _, connection := range run.Input.Connections {
		out.Connections = append(out.Connections, connection)
	}
	slices.Sort(out.Connections)
	out.Connections = slices.Compact(out.Connections)
	return out
}

// tools returns the tools that a run may use: the tools of the agent, and RunTool if the agent has agents. If the input names tools,
// only these remain. A run with a parent may start no run.
func tools(run Run) []string {
	own := slices.DeleteFunc(slices.Clone(run.Document.Tools), func(tool string) bool { return tool == pawlagent.RunTool })
	if run.Parent == nil && len(run.Document.Agents) > 0 {
		own = append(own, pawlagent.RunTool)
	}
	allowed := run.Input.Context.ToolIDs
	if len(allowed) == 0 {
		return own
	}
	return slices.DeleteFunc(own, func(tool string) bool { return !slices.Contains(allowed, tool) })
}

func refused(reason string) contract.AgentOpenOut {
	return contract.AgentOpenOut{Result: &pawlagent.Result{Outcome: pawlagent.Failed, Reason: reason}}
}

// Say stores a message of a person.
func (a *Agents) Say(ctx context.Context, in contract.AgentSayIn) (out contract.AgentSayOut, err error) {
	out.Said, err = a.Store.SayToAgent(ctx, in.Run, in.Message)
	if errors.Is(err, ErrNotFound) {
		return contract.AgentSayOut{Ended: true}, nil
	}
	return out, err
}
