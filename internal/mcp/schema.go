package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
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

// Fields returns the paths of the fields in a published output schema, for the allowlist of a review: the fields of the
// root or, if the root is a list, of each element. It returns nil if the schema has no such fields. Then the allowlist ""
// shows the whole output.
func Fields(published json.RawMessage) (paths []string) {
	var root struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Items      json.RawMessage            `json:"items"`
	}
	if json.Unmarshal(published, &root) != nil {
		return nil
	}
	fields, parent := root.Properties, strictjson.Path{}
	if fields == nil && root.Items != nil {
		var items struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(root.Items, &items) != nil {
			return nil
		}
		fields, parent = items.Properties, strictjson.Path{"*"}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		// In an allowlist, * stands for all fields, and the path of a field without a name for the whole output.
		if path := parent.With(name).Pointer(); name != hidden && name != "*" && name != "" && shows(published, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// CheckAllow returns an error if the allowlist of a review names what a published output schema does not have. If the
// schema has no fields, CheckAllow cannot tell, and returns nil.
func CheckAllow(published json.RawMessage, allow []string) error {
	fields := Fields(published)
	if fields == nil {
		return nil
	}
	if _, err := schema.Project(published, allow); err != nil {
		return fmt.Errorf("%w, which has %s", err, strings.Join(fields, ", "))
	}
	return nil
}

// shows reports whether a path can be allowed of an output schema.
func shows(doc json.RawMessage, path string) bool {
	_, err := schema.Project(doc, []string{path})
	return err == nil
}
