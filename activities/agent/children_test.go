package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/workflows/contract"
)

// planned has a run whose first round plans a call of another agent.
type planned struct{ run Run }

func (p planned) AgentRun(context.Context, contract.AgentRun) (Run, error) { return p.run, nil }

func (planned) AgentRound(context.Context, contract.AgentRun, int) (Round, bool, error) {
	call := contract.AgentCall{ToolID: pawlagent.RunTool, ToolCallID: "r1-0"}
	return Round{Round: 1, Plan: Plan{Calls: []PlannedCall{{Call: call}}}}, true, nil
}

func (planned) StartChild(_ context.Context, c NewChild) (Run, error) {
	return Run{Document: c.Document, Input: c.Input, Parent: &pawlagent.Parent{RunID: c.Parent.RunID, ToolCallID: c.ToolCallID}}, nil
}

// TestCallOfAnotherIdentity: a call under an id that the model of a run has planned starts a run for the subject of the run only if the call has the
// identities of the run. Another program may have started it, without a proof of the subject.
func TestCallOfAnotherIdentity(t *testing.T) {
	t.Parallel()
	document := pawlagent.Document{Name: "lead", Agents: []string{"research"}, Limits: pawlagent.Limits{Seconds: 600}}
	children := &Children{
		Store: planned{Run{Round: 1, Document: document, OpenedAt: time.Now(), Input: pawlagent.Input{Context: toolspec.Context{
			TenantID: "acme", RunID: "run", ActorID: "agent:lead", SubjectID: "user:sue", VirtualKeyID: "key",
		}}}},
		Document: func(context.Context, string, string) (pawlagent.Document, error) {
			return pawlagent.Document{Name: "research", Limits: pawlagent.Limits{Seconds: 600}}, nil
		},
	}
	own := capability.AgentCall{
		TenantID: "acme", RunID: "run", ToolCallID: "r1-0", ActorID: "agent:lead", SubjectID: "user:sue", VirtualKeyID: "key", Agent: "research", Task: "find it",
	}
	if started, err := children.StartAgentRun(t.Context(), own); err != nil || started.Agent != "research" {
		t.Fatalf("%+v, %v", started, err)
	}
	for name, change := range map[string]func(*capability.AgentCall){
		"another actor":       func(c *capability.AgentCall) { c.ActorID = "user:eve" },
		"no subject":          func(c *capability.AgentCall) { c.SubjectID = "" },
		"another virtual key": func(c *capability.AgentCall) { c.VirtualKeyID = "" },
	} {
		foreign := own
		change(&foreign)
		if _, err := children.StartAgentRun(t.Context(), foreign); !errors.Is(err, capability.ErrNoAgentRun) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
