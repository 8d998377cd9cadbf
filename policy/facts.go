package policy

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Facts are what is known of one call when it is judged.
type Facts struct {
	TenantID  string
	ActorID   string
	SubjectID string
	RunID     string
	// Roles are further roles of the actor, besides those that policy gives.
	Roles []string
	// ConnectionID is empty where the call names no connection.
	ConnectionID string
	// ToolID is the namespaced id of the tool.
	ToolID string
	// Effect and Risk are what the tool declares. A call without both is denied.
	Effect toolspec.Effect
	Risk   toolspec.Risk
	// Tags are those of the tool. TagsUnknown says that nobody knows them: a
	// condition that asks for them fails.
	Tags        []string
	TagsUnknown bool
	// ToolIDs are the tools that the run may use; empty means that the run does
	// not narrow them.
	ToolIDs []string
	// Args are the validated arguments. They count only where HasArgs is set:
	// before hydration nobody knows them.
	Args    json.RawMessage
	HasArgs bool
	// Repaired says that the arguments were mended to become readable.
	Repaired bool
	// NoSchema says that there was no schema to check the arguments against.
	NoSchema bool
}

// Of returns f with what a published tool says of itself.
func (f Facts) Of(tool toolspec.Spec) Facts {
	f.ToolID, f.Effect, f.Risk, f.Tags = tool.Name, tool.Effect, tool.Risk, tool.Tags
	f.NoSchema = f.NoSchema || tool.NoSchema
	return f
}
