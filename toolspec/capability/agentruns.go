package capability

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/toolspec"
)

// AgentRunsKey is the typed name of AgentRuns.
var AgentRunsKey = toolspec.NewCapability[AgentRuns]("agent_runs")

// AgentRuns lets a call of a running agent start the run of another agent.
type AgentRuns interface {
	// StartAgentRun records the run, once for each call, and takes its limits from the limits that the calling run has
	// left. The workflow of the calling run then runs it. Errors that are not of this package may be tried again.
	StartAgentRun(ctx context.Context, c AgentCall) (StartedAgent, error)
}

// AgentCall is a call that starts a run.
type AgentCall struct {
	// TenantID, RunID and ToolCallID identify the call.
	TenantID, RunID, ToolCallID string
	// ActorID, SubjectID and VirtualKeyID are those of the context of the call. They must be those of the calling run.
	ActorID, SubjectID, VirtualKeyID string
	// Agent is the name of the agent, and Task what it is to do.
	Agent, Task string
}

// StartedAgent is a recorded run.
type StartedAgent struct{ RunID, Agent, Version string }

// Errors of AgentRuns.
var (
	// ErrNoAgentRun says that the call is no open call of a running agent that may run others.
	ErrNoAgentRun = errors.New("the call is not that of a running agent")
	// ErrAgentNotAllowed says that the calling agent does not list the agent.
	ErrAgentNotAllowed = errors.New("the calling agent does not list the agent")
	// ErrNoAgent says that there is no such agent, or that it is retired.
	ErrNoAgent = errors.New("there is no such agent")
	// ErrAgentBudget says that the calling run has no time, tokens or money left for another run.
	ErrAgentBudget = errors.New("the calling run has nothing left")
)
