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

// target returns the rules for the schemas of a format.
func target(format string, strict bool) (t schema.Target, holds bool) {
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

// formOf returns the schema of a tool in a format. If the strict form cannot express the whole
// schema, formOf returns the form that is not strict. The worker validates the arguments in both
// cases.
func formOf(format string, strict bool, spec toolspec.Spec) (form wire.Form, changed Changed, err error) {
	changed.ToolID = spec.Name
	to, holds := target(format, strict)
	sent, err := schema.Down(spec.InputSchema, to)
	if holds && (err != nil || tightened(sent)) {
		changed.NotStrict = true
		to, holds = target(format, false)
		sent, err = schema.Down(spec.InputSchema, to)
	}
	if err != nil {
		return form, changed, err
	}
	changed.Findings = sent.Findings
	form = wire.Form{Schema: sent.Document, Strict: holds}
	if sent.Mapping != nil {
		form.Mapping, err = json.Marshal(sent.Mapping)
	}
	return form, changed, err
}

func tightened(sent *schema.Sent) bool {
	return slices.ContainsFunc(sent.Findings, func(f schema.Finding) bool { return f.Effect == schema.Tightened })
}
