package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type createCheckpointIn struct {
	Label string `json:"label" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"What has been reached, in a few words."`
	Notes string `json:"notes,omitempty" jsonschema:"maxLength=4000" jsonschema_description:"What is needed to go on from here, at most 4000 characters."`
}

type recordDecisionIn struct {
	Decision  string `json:"decision" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"What was decided, in one sentence."`
	Rationale string `json:"rationale" jsonschema:"minLength=1,maxLength=4000" jsonschema_description:"Why, and what the alternatives were, at most 4000 characters."`
}

type goalNoteOut struct {
	GoalID    string `json:"goalId" jsonschema_description:"Id of the goal that it belongs to."`
	Path      string `json:"path" jsonschema_description:"Path of the new entry, for core__memory."`
	CreatedAt string `json:"createdAt" jsonschema_description:"When it was recorded."`
}

// goalNoteTool returns the definition that the tools for entries of a goal share: checkpoints and
// decisions.
func goalNoteTool(id, title, description string, example toolspec.Example) toolspec.Definition {
	d := goalTool(id, title, description, example)
	d.Redaction.Allow = []string{"/goalId", "/path", "/createdAt"}
	return d
}

// CreateCheckpoint is core__create_checkpoint. It needs capability.Plans.
func CreateCheckpoint() toolspec.Tool {
	return toolspec.Define(goalNoteTool("core__create_checkpoint", "Create checkpoint",
		"Records under the active goal that a part of it is done, with the time. It fails if no goal is active: create one or switch to one first. "+
			"It saves no files and no state beside its text. core__memory lists the checkpoints below the path of the goal.",
		toolspec.Example{Title: "Record progress", Args: `{"label":"Schema migrated","notes":"The backfill of orders comes next."}`},
	), func(ctx context.Context, in createCheckpointIn, call toolspec.Call) (goalNoteOut, error) {
		return goalNoteOf(capability.PlansKey.From(call).AddToGoal(ctx, capability.MemoryCallerOf(call), capability.MemoryCheckpoint, in.Label, in.Notes))
	})
}

// RecordDecision is core__record_decision. It needs capability.Plans.
func RecordDecision() toolspec.Tool {
	return toolspec.Define(goalNoteTool("core__record_decision", "Record decision",
		"Records a decision and its rationale under the active goal, so that later calls do not decide it anew. "+
			"It fails if no goal is active: create one or switch to one first. core__memory lists the decisions below the path of the goal, and finds them by words.",
		toolspec.Example{Title: "Record why", Args: `{"decision":"Copy orders in batches of 1000","rationale":"One statement held locks for minutes."}`},
	), func(ctx context.Context, in recordDecisionIn, call toolspec.Call) (goalNoteOut, error) {
		return goalNoteOf(capability.PlansKey.From(call).AddToGoal(ctx, capability.MemoryCallerOf(call), capability.MemoryDecision, in.Decision, in.Rationale))
	})
}

func goalNoteOf(e capability.MemoryEntry, err error) (goalNoteOut, error) {
	return goalNoteOut{GoalID: e.GoalID(), Path: e.Path, CreatedAt: instant(e.CreatedAt)}, explainMemory(err)
}
