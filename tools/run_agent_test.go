package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type agentRuns struct {
	got capability.AgentCall
	err error
}

func (r *agentRuns) StartAgentRun(_ context.Context, c capability.AgentCall) (capability.StartedAgent, error) {
	r.got = c
	return capability.StartedAgent{RunID: "agent-1", Agent: c.Agent, Version: "7"}, r.err
}

func TestRunAgent(t *testing.T) {
	runs := &agentRuns{}
	call := pawltest.Call{Tool: tools.RunAgent(), Args: `{"agent":"research","task":"find it"}`, Capabilities: []toolspec.Provided{capability.AgentRunsKey.Provide(runs)}}
	if got := call.Run(t); string(got.Value) != `{"agent":"research","runId":"agent-1","version":"7"}` || runs.got.Task != "find it" || runs.got.ToolCallID == "" {
		t.Errorf("%+v: %s, %+v", runs.got, got.Value, got.Result)
	}
	for err, want := range map[error]string{
		capability.ErrNoAgentRun: "only an open call of a running agent", capability.ErrAgentNotAllowed: "do not have this one",
		capability.ErrNoAgent: "retired", capability.ErrAgentBudget: "no time, tokens or money left",
	} {
		runs.err = err
		if got := call.Run(t); got.Retryable || !strings.Contains(got.Result.SafeMessage, want) {
			t.Errorf("%v: %+v", err, got.Result)
		}
	}
	runs.err = errors.New("connection refused by 10.0.0.7")
	if got := call.Run(t); !got.Retryable || strings.Contains(string(got.ModelContent), "10.0.0.7") {
		t.Errorf("without a database: %+v", got.Result)
	}
}
