package client

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Changed says how the offer of a tool differs from the tool.
type Changed struct {
	ToolID string `json:"toolId"`
	// NotStrict says that the tool is offered without strict although strict was asked for. With
	// strict, the model could not make some calls that the tool accepts.
	NotStrict bool `json:"notStrict,omitempty"`
	// LeftOut is the reason why the tool is not offered; empty if it is offered.
	LeftOut  string           `json:"leftOut,omitempty"`
	Findings []schema.Finding `json:"findings,omitempty"`
}

// target returns the rules that a schema must follow in a format. isStrict says that they are the rules of the
// format's strict mode. It is false for gemini and ollama even if strict is true, because Pawl uses no strict mode
// there.
func target(format string, strict bool) (rules schema.Target, isStrict bool) {
	switch {
	case format == "anthropic" && strict:
		return schema.AnthropicStrict, true
	case format == "anthropic":
		return schema.Anthropic, false
	case format == "gemini": // its codec fills parametersJsonSchema, which takes JSON Schema
		return schema.OpenAI, false
	case format == "ollama":
		return schema.Ollama, false
	case strict:
		return schema.OpenAIStrict, true
	default:
		return schema.OpenAI, false
	}
}

// formOf returns the schema of a tool in a format, and how it differs from the tool's own schema. If strict is
// asked for and the strict form cannot express the whole schema, formOf returns the form that is not strict. The
// worker validates the arguments in both cases.
func formOf(format string, strict bool, spec toolspec.Spec) (form wire.Form, changed Changed, err error) {
	changed.ToolID = spec.Name
	rules, isStrict := target(format, strict)
	sent, err := schema.Down(spec.InputSchema, rules)
	if isStrict && (err != nil || tightened(sent)) {
		changed.NotStrict = true
		rules, isStrict = target(format, false)
		sent, err = schema.Down(spec.InputSchema, rules)
	}
	if err != nil {
		return form, changed, err
	}
	changed.Findings = sent.Findings
	form = wire.Form{Schema: sent.Document, Strict: isStrict}
	if sent.Mapping != nil {
		form.Mapping, err = json.Marshal(sent.Mapping)
	}
	return form, changed, err
}

// tightened reports whether the sent schema refuses some arguments that the tool accepts.
func tightened(sent *schema.Sent) bool {
	return slices.ContainsFunc(sent.Findings, func(f schema.Finding) bool { return f.Effect == schema.Tightened })
}
