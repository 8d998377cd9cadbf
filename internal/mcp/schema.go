package mcp

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// schemas returns the schemas of a definition as a model may read them. A tool without an output schema
// returns parts.
func (d definition) schemas() (in, out json.RawMessage, f *fault) {
	if in, f = schemaOf(d.Input); f != nil {
		return nil, nil, f
	}
	if d.Output == nil {
		return in, toolspec.PartsSchema(), nil
	}
	out, f = schemaOf(d.Output)
	return in, out, f
}

// schemaOf returns a schema without hidden text. Descriptions and titles are changed as far as it takes. In
// any other place, such as the name of a field, a change would change what the schema accepts, so the schema
// is refused.
func schemaOf(given any) (json.RawMessage, *fault) {
	doc, err := json.Marshal(given)
	if err != nil {
		return nil, newFault(reasonSchema, err)
	}
	doc, hidden := sanitize.Schema(doc)
	if hidden {
		return nil, newFault(reasonHidden, nil)
	}
	return jsonschema.Declare(doc, jsonschema.Draft2020), nil
}

// secretNames returns the names of fields in a schema that look like credentials, sorted.
func secretNames(given any) []string {
	found := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			fields, _ := v["properties"].(map[string]any)
			for name := range fields {
				if toolspec.SecretName(name) {
					found[name] = true
				}
			}
			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	walk(given)
	return slices.Sorted(maps.Keys(found))
}

// hidden is a field that no value has. A tool without a review may show only this.
const hidden = "pawl-not-reviewed"

// hideAll returns an output schema with the field hidden, at the root or in each element, so that a reviewer
// sees the schema, and a path to that field. A schema of another form becomes one with that field alone.
func hideAll(out json.RawMessage) (json.RawMessage, string) {
	var root map[string]any
	if json.Unmarshal(out, &root) == nil {
		fields, path := root["properties"], "/"+hidden
		if items, ok := root["items"].(map[string]any); ok {
			fields, path = items["properties"], "/*/"+hidden
		}
		if fields, ok := fields.(map[string]any); ok {
			fields[hidden] = map[string]any{"type": "null"}
			if doc, err := json.Marshal(root); err == nil && shows(doc, path) {
				return doc, path
			}
		}
	}
	return json.RawMessage(`{"type":"object","properties":{"` + hidden + `":{"type":"null"}},"additionalProperties":false}`), "/" + hidden
}

// shows reports whether a path can be allowed of an output schema.
func shows(doc json.RawMessage, path string) bool {
	_, err := schema.Project(doc, []string{path})
	return err == nil
}
