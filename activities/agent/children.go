package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/workflows/contract"
)

// ErrSpent means that a run has used up one of its limits.
var ErrSpent = errors.New("the run has nothing left of a limit")

// NewChild is a run that a call of another run starts.
type NewChild struct {
	// Parent is the calling run, ToolCallID is the call, and RunID is the id of the new run.
	Parent            contract.AgentRun
	ToolCallID, RunID string
	Document          pawlagent.Document
	Input             pawlagent.Input
}

// Children starts the runs that models ask for with calls of core__run_agent.
type Children struct {
	Store interface {
		AgentRun(ctx context.Context, of contract.AgentRun) (Run, error)
		AgentRound(ctx context.Context, of contract.AgentRun, round int) (r Round, found bool, err error)
		// StartChild writes the run of a call, if there is none yet, and reserves the limits of tokens and cost of the new
		// run from what the calling run has left. ErrNotFound says that the calling run cannot start a run, and ErrSpent
		// that the calling run has used up a limit.
		StartChild(ctx context.Context, c NewChild) (Run, error)
	}
	// Document does what Agents.Document does.
	Document func(ctx context.Context, name, version string) (pawlagent.Document, error)
}

// StartAgentRun implements capability.AgentRuns. Anybody who may call tools can name a run, so StartAgentRun
// accepts only a call that the model of the run has planned, that has no answer yet, and that has the identities of the run. A child starts no run:
// its calls have the run id of the parent, and no round of the parent plans them.
func (c *Children) StartAgentRun(ctx context.Context, call capability.AgentCall) (started capability.StartedAgent, err error) {
	parent := contract.AgentRun{TenantID: call.TenantID, RunID: call.RunID}
	run, err := c.Store.AgentRun(ctx, parent)
	switch {
	case errors.Is(err, ErrNotFound):
		return started, capability.ErrNoAgentRun
	case err != nil:
		return started, err
	case run.Result != nil || !slices.Contains(tools(run), pawlagent.RunTool) || !isCallOf(run, call):
		return started, capability.ErrNoAgentRun
	}
	round, found, err := c.Store.AgentRound(ctx, parent, run.Round)
	switch {
	case err != nil:
		return started, err
	case !found || round.Answers != nil || !round.plansChild(call.ToolCallID):
		return started, capability.ErrNoAgentRun
	case !slices.Contains(run.Document.Agents, call.Agent):
		return started, capability.ErrAgentNotAllowed
	}
	document, err := c.Document(ctx, call.Agent, "")
	if errors.Is(err, ErrNotFound) {
		return started, capability.ErrNoAgent
	}
	if err != nil {
		return started, err
	}
	rest := time.Duration(run.Document.Limits.Seconds)*time.Second - time.Since(run.OpenedAt)
	if rest < time.Second {
		return started, capability.ErrAgentBudget
	}
	document.Limits.Seconds = min(document.Limits.Seconds, int(rest/time.Second))
	child, err := c.Store.StartChild(ctx, NewChild{
		Parent: parent, ToolCallID: call.ToolCallID, RunID: childOf(parent, call.ToolCallID).RunID, Document: document, Input: childInput(run, call, document),
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return started, capability.ErrNoAgentRun
	case errors.Is(err, ErrSpent):
		return started, capability.ErrAgentBudget
	case err != nil:
		return started, err
	case child.Parent == nil || *child.Parent != (pawlagent.Parent{RunID: call.RunID, ToolCallID: call.ToolCallID}):
		return started, capability.ErrNoAgentRun // somebody has started another run with this id
	}
	return capability.StartedAgent{RunID: childOf(parent, call.ToolCallID).RunID, Agent: child.Document.Name, Version: child.Document.Version}, nil
}

// isCallOf reports whether a call has the identities of a run. The new run gets the subject of the run and its proof. Another program can start a call
// under an id that the model has planned, but it has no proof of the subject.
func isCallOf(run Run, call capability.AgentCall) bool {
	by := run.Input.Context
	return call.ActorID == by.ActorID && call.SubjectID == by.SubjectID && call.VirtualKeyID == by.VirtualKeyID
}

// childInput returns the input of the run that a call starts. The calls of this run count as calls of the parent, so they have
// the context, the connections and the proof of the parent. The run has no tool that the parent does not have. If its document has a graph, it
// belongs to the same run of a graph as the parent.
func childInput(run Run, call capability.AgentCall, document pawlagent.Document) pawlagent.Input {
	in := pawlagent.Input{
		Agent: call.Agent, Context: run.Input.Context, Connections: run.Input.Connections, SubmitterProof: run.Input.SubmitterProof,
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: call.Task}}}},
	}
	in.Context.ToolIDs = tools(run)
	if document.Graph != nil {
		in.GraphRunID = run.Input.GraphRunID
	}
	return in
}

// childOf returns the run that a call of a run starts.
func childOf(parent contract.AgentRun, toolCallID string) contract.AgentRun {
	id := toolspec.Identity{TenantID: parent.TenantID, RunID: parent.RunID, ToolCallID: toolCallID}
	return contract.AgentRun{TenantID: parent.TenantID, RunID: pawlagent.ChildRunID(id.InvocationID())}
}

// plansChild reports whether the round plans a call of RunTool with this id.
func (r Round) plansChild(toolCallID string) bool {
	return slices.ContainsFunc(r.Plan.Calls, func(c PlannedCall) bool {
		return c.Call.ToolID == pawlagent.RunTool && c.Call.ToolCallID == toolCallID
	})
}

// allows reports whether the run may run the agent that the arguments of a call name. It allows arguments that
// name no agent, because the call itself refuses them.
func (r Run) allows(args json.RawMessage) bool {
	var in struct {
		Agent *string `json:"agent"`
	}
	return json.Unmarshal(args, &in) != nil || in.Agent == nil || slices.Contains(r.Document.Agents, *in.Agent)
}

// agentsText returns what the instructions say about the agents that a run may run, or "".
func (a *Agents) agentsText(ctx context.Context, run Run) (string, error) {
	if !slices.Contains(tools(run), pawlagent.RunTool) {
		return "", nil
	}
	text := &strings.Builder{}
	text.WriteString("\n\nThe agents that " + pawlagent.RunTool + " can run:")
	for _, name := range run.Document.Agents {
		document, err := a.Document(ctx, name, "")
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		text.WriteString("\n- " + name)
		if document.Description != "" {
			text.WriteString(": " + strings.Join(strings.Fields(document.Description), " "))
		}
	}
	return text.String(), nil
}

// childAnswer is the value of a call of RunTool: how the run that the call started has ended. If Text is
// truncated, the result of the call has a reference to the whole text.
type childAnswer struct {
	Agent     string            `json:"agent"`
	Outcome   pawlagent.Outcome `json:"outcome"`
	Reason    string            `json:"reason,omitempty"`
	Text      string            `json:"text"`
	Truncated bool              `json:"truncated,omitempty"`
}

// childResult returns the result of a call of RunTool, with the answer of the child as its value. The workflow
// of the child has ended. If it ended without a result, or never began, childResult ends the child in the
// record, so that nothing of the parent stays reserved.
func (a *Agents) childResult(ctx context.Context, parent contract.AgentRun, toolCallID string, result toolspec.Result) (toolspec.Result, error) {
	of := childOf(parent, toolCallID)
	child, err := a.Store.AgentRun(ctx, of)
	if errors.Is(err, ErrNotFound) {
		return result, nil
	}
	if err != nil {
		return result, err
	}
	if child.Parent == nil {
		return result, nil
	}
	if child.Result == nil {
		closed, err := a.Close(ctx, contract.AgentCloseIn{Run: of, End: contract.AgentEnd{Outcome: pawlagent.Cancelled, Reason: "the run was stopped before it had a result"}})
		if err != nil {
			return result, err
		}
		child.Result = &closed.Result
	}
	if !result.OK {
		return result, nil
	}
	answer := childAnswer{Agent: child.Result.Agent, Outcome: child.Result.Outcome, Reason: child.Result.Reason}
	answer.Text, answer.Truncated = cutTo(child.Result.Text, pawlagent.MaxAnswer)
	ref := ""
	if answer.Truncated {
		ref = toolspec.AnswerRef(result.InvocationID)
	}
	value, err := json.Marshal(answer)
	if err != nil {
		return result, err
	}
	return result.WithOutput(value, toolspec.OutputInfo{Bytes: int64(len(value)), OutputRef: ref}), nil
}
