package policy

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Facts are the known facts of one call when it is judged.
type Facts struct {
	TenantID  string
	ActorID   string
	SubjectID string
	RunID     string
	// Roles are further roles of the actor, besides the roles that policy gives.
	Roles []string
	// ConnectionID is empty if the call names no connection.
	ConnectionID string
	// ToolID is the namespaced id of the tool.
	ToolID string
	// Effect and Risk are the declarations of the tool. A call without both is denied.
	Effect toolspec.Effect
	Risk   toolspec.Risk
	// Tags are the tags of the tool. TagsUnknown says that they are not known; a condition that
	// uses them then fails.
	Tags        []string
	TagsUnknown bool
	// ToolIDs are the tools that the run may use. If it is empty, the run does not narrow the
	// tools.
	ToolIDs []string
	// Args are the validated arguments. They are used only if HasArgs is set, because they are
	// not known before hydration.
	Args    json.RawMessage
	HasArgs bool
	// Repaired says that hydration repaired the arguments.
	Repaired bool
	// NoSchema says that there was no schema to check the arguments against.
	NoSchema bool
	// ScriptArg names the argument that has a script of a shell. It is empty if the tool has none.
	ScriptArg string
	// Discovered is the field Discovered of the tool's spec. It is nil if no server has given the
	// definition.
	Discovered *toolspec.Discovered
}

// Of returns f with the declarations of a published tool.
func (f Facts) Of(tool toolspec.Spec) Facts {
	f.ToolID, f.Effect, f.Risk, f.Tags = tool.Name, tool.Effect, tool.Risk, tool.Tags
	f.ScriptArg, f.Discovered = tool.ScriptArg, tool.Discovered.Digests()
	f.NoSchema = f.NoSchema || tool.NoSchema
	return f
}
