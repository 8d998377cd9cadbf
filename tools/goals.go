package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type createGoalIn struct {
	Title       string `json:"title" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"The goal in one sentence."`
	Description string `json:"description,omitempty" jsonschema:"maxLength=4000" jsonschema_description:"What is to be done and how to tell that it is done, at most 4000 characters."`
}

type switchGoalIn struct {
	GoalID string `json:"goalId" jsonschema:"minLength=1,maxLength=64" jsonschema_description:"Id of an open goal, such as goal-3."`
}

type completeGoalIn struct {
	GoalID string `json:"goalId,omitempty" jsonschema:"maxLength=64" jsonschema_description:"Id of the goal, such as goal-3. Default: the active goal."`
}

type goalOut struct {
	GoalID string `json:"goalId" jsonschema_description:"Id of the goal."`
	Title  string `json:"title" jsonschema_description:"The goal in one sentence."`
	Status string `json:"status" jsonschema_description:"The status of the goal: open or completed."`
	Active bool   `json:"active" jsonschema_description:"True if it is the active goal."`
	Trust  string `json:"trust" jsonschema_description:"Who wrote the title: model or person, as of an entry of core__memory."`
	Author string `json:"author" jsonschema_description:"Actor who wrote it last."`
}

// goalTool returns the definition that the tools of goals share.
func goalTool(id, title, description string, example toolspec.Example) toolspec.Definition {
	return toolspec.Definition{
		ID: id, Title: title, Description: description, Version: "1", Effect: toolspec.StateChange, Risk: toolspec.LowRisk, Idempotent: true,
		Redaction:    toolspec.Redaction{Allow: []string{"/goalId", "/title", "/status", "/active", "/trust", "/author"}},
		Capabilities: []toolspec.CapabilityName{capability.PlansKey.Name()},
		Tags:         []string{"goals"},
		Examples:     []toolspec.Example{example},
	}
}

// CreateGoal is core__create_goal. It needs capability.Plans.
func CreateGoal() toolspec.Tool {
	return toolspec.Define(goalTool("core__create_goal", "Create goal",
		"Creates a goal of this session and makes it the active goal: checkpoints and decisions then belong to it. The goal that was active stays open. "+
			"core__memory lists all goals if you view /goals.",
		toolspec.Example{Title: "Begin a task", Args: `{"title":"Move the shop to the new database","description":"Done when all orders are read from it."}`},
	), func(ctx context.Context, in createGoalIn, call toolspec.Call) (goalOut, error) {
		return goalOf(capability.PlansKey.From(call).CreateGoal(ctx, capability.MemoryCallerOf(call), in.Title, in.Description))
	})
}

// SwitchGoal is core__switch_goal. It needs capability.Plans.
func SwitchGoal() toolspec.Tool {
	return toolspec.Define(goalTool("core__switch_goal", "Switch goal",
		"Makes an open goal of this session the active goal: checkpoints and decisions then belong to it. It fails if there is no such goal or the goal is completed. "+
			"core__memory lists all goals if you view /goals.",
		toolspec.Example{Title: "Go back to an earlier goal", Args: `{"goalId":"goal-1"}`},
	), func(ctx context.Context, in switchGoalIn, call toolspec.Call) (goalOut, error) {
		return goalOf(capability.PlansKey.From(call).SwitchGoal(ctx, capability.MemoryCallerOf(call), in.GoalID))
	})
}

// CompleteGoal is core__complete_goal. It needs capability.Plans.
func CompleteGoal() toolspec.Tool {
	return toolspec.Define(goalTool("core__complete_goal", "Complete goal",
		"Marks a goal of this session as completed. If it was the active goal, no goal is active afterwards: switch to another one. "+
			"Completing a completed goal changes nothing. A completed goal cannot be opened again.",
		toolspec.Example{Title: "Complete the active goal", Args: `{}`},
	), func(ctx context.Context, in completeGoalIn, call toolspec.Call) (goalOut, error) {
		return goalOf(capability.PlansKey.From(call).CompleteGoal(ctx, capability.MemoryCallerOf(call), in.GoalID))
	})
}

func goalOf(e capability.MemoryEntry, err error) (goalOut, error) {
	return goalOut{GoalID: e.GoalID(), Title: e.Title, Status: e.Status, Active: e.Active, Trust: string(e.Trust), Author: e.ActorID}, explainMemory(err)
}
