package wire

import "encoding/json"

// Tool is one tool as a request offers it (LlmToolDefinition of the
// specification).
type Tool struct {
	// Name is what the model calls: 1–64 characters of [A-Za-z0-9_-].
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, with an object at its root. A
	// codec copies it and never changes it.
	Schema json.RawMessage
	// Strict asks the provider to enforce the schema, if the format has such a flag. The schema
	// must have the form that the provider requires.
	Strict bool
}

// Mode says whether a model may, must or must not call tools.
type Mode string

// The modes of a choice.
const (
	Auto     Mode = "auto"     // the model decides
	None     Mode = "none"     // no call
	Required Mode = "required" // at least one call, of any tool
	Named    Mode = "named"    // the tool that Choice.Name names
)

// Choice is the tool_choice of a request (LlmToolChoice of the specification).
type Choice struct {
	// Mode is Auto if it is empty.
	Mode Mode
	// Name is the offered name, for Named alone.
	Name string
	// Serial asks for at most one call, if the format has a field for that.
	Serial bool
}
