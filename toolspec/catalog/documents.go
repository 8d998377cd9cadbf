package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// anyObject is the schema that a model is shown of a tool that has none.
const anyObject = `{"type":"object"}`

// documents are the tool's schemas: derived from its types, or its own. in is empty if the author
// gave no input schema and set AllowNoSchema.
func (b *Bound) documents() (in, out json.RawMessage, err error) {
	in, out, own := b.tool.Documents()
	if !own {
		return b.derived()
	}
	if len(out) == 0 {
		return nil, nil, errors.New(`output schema: is missing; {"type":"object"} is one that takes every object`)
	}
	if len(in) == 0 && !b.def.AllowNoSchema {
		return nil, nil, errors.New("input schema: is missing: without one, nothing says which arguments are right (allowNoSchema and noSchemaMode accept that)")
	}
	return in, out, nil
}

func (b *Bound) derived() (in, out json.RawMessage, err error) {
	inType, outType := b.tool.Types()
	switch {
	case !b.def.AllowNoSchema:
		if in, err = schema.Derive(inType); err != nil {
			return nil, nil, fmt.Errorf("input schema: %w", err)
		}
	case !openType(inType):
		return nil, nil, errors.New("allowNoSchema is for tools that take json.RawMessage or map[string]any: of this one's type there is a schema")
	}
	if out, err = schema.DeriveOutput(outType); err != nil {
		return nil, nil, fmt.Errorf("output schema: %w", err)
	}
	return in, out, nil
}

// openType reports whether a type can hold any JSON, so that no schema can be derived from it.
func openType(t reflect.Type) bool {
	return t == reflect.TypeFor[json.RawMessage]() || t == reflect.TypeFor[map[string]any]()
}

// bindInput compiles the input schema, if there is one, and returns the published document. If
// the author did not say whether there may be other arguments, the document forbids them (C-14).
func (b *Bound) bindInput(doc json.RawMessage) (_ json.RawMessage, err error) {
	if len(doc) == 0 && len(b.def.HarmlessNames) > 0 {
		return nil, errors.New("harmlessNames needs an input schema: without one, no argument has a name")
	}
	if len(doc) == 0 && b.def.ScriptArg != "" {
		return nil, errors.New("scriptArg needs an input schema: without one, no argument has a name")
	}
	if len(doc) == 0 { // every path of an open object may be masked
		return json.RawMessage(anyObject), nil
	}
	if err := schema.CheckInput(doc, b.def.HarmlessNames...); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if doc, _, err = schema.Close(doc); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if b.in, err = jsonschema.Compile(doc); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if len(b.def.Redaction.MaskInput) > 0 {
		if _, err := schema.Project(doc, b.def.Redaction.MaskInput); err != nil {
			return nil, fmt.Errorf("redaction.maskInput: %w", err)
		}
	}
	if b.def.ScriptArg != "" {
		if _, err := schema.Project(doc, []string{"/" + b.def.ScriptArg}); err != nil {
			return nil, fmt.Errorf("scriptArg: %w", err)
		}
	}
	return doc, nil
}

// noSchemaMode returns the mode to publish: the declared mode, or "" if the tool has an input
// schema.
func (b *Bound) noSchemaMode() toolspec.NoSchemaMode {
	if b.HasSchema() {
		return ""
	}
	return b.def.NoSchemaMode
}

// digest is the tool digest: the hexadecimal SHA-256 of the RFC 8785 JSON of schemas, effect, risk,
// redaction, the use of a connection, the harmless names and the author's version. The description
// has an effect on the digest only through Discovered. So a call does not run if the definition of
// the MCP server, or its review, has changed since the gate.
func (b *Bound) digest(inDoc, outDoc json.RawMessage) (string, error) {
	def := b.def
	doc, err := json.Marshal(struct {
		ID           string                 `json:"id"`
		Version      string                 `json:"version"`
		Effect       toolspec.Effect        `json:"effect"`
		Risk         toolspec.Risk          `json:"risk"`
		Idempotent   bool                   `json:"idempotent"`
		Redaction    toolspec.RedactionSpec `json:"redaction"`
		InputSchema  json.RawMessage        `json:"inputSchema"`
		OutputSchema json.RawMessage        `json:"outputSchema"`
		// The members below are left out if they are empty, so that a tool without them has the same
		// digest as in the first releases.
		Connection   bool                  `json:"requiresConnection,omitempty"`
		Scopes       []string              `json:"scopes,omitempty"`
		NoSchema     bool                  `json:"noSchema,omitempty"`
		NoSchemaMode toolspec.NoSchemaMode `json:"noSchemaMode,omitempty"`
		Harmless     []string              `json:"harmlessNames,omitempty"`
		Fences       bool                  `json:"fences,omitempty"`
		Stream       toolspec.Stream       `json:"stream,omitempty"`
		ScriptArg    string                `json:"scriptArg,omitempty"`
		Discovered   *toolspec.Discovered  `json:"discovered,omitempty"`
	}{
		def.ID, def.Version, def.Effect, def.Risk, def.Idempotent,
		toolspec.RedactionSpec(def.Redaction), inDoc, outDoc,
		def.RequiresConnection, def.Scopes, !b.HasSchema(), b.noSchemaMode(), def.HarmlessNames, def.Fences, def.Stream, def.ScriptArg, def.Discovered.Digests(),
	})
	if err != nil {
		return "", fmt.Errorf("tool digest: %w", err)
	}
	return strictjson.Digest(doc)
}
