package catalog

import (
	"encoding/json"
	"maps"
	"slices"
)

// Bounds of what is read of one input schema. A document of the largest size that
// may be registered still gives these many.
const (
	maxSchemaNodes = 2_000
	maxSchemaDepth = 32
)

// arguments collects the names and the descriptions of the arguments that an input
// schema speaks of, at every depth. The names of properties are in their order by
// the alphabet, so that documents that say the same give the same.
type arguments struct {
	nodes        int
	names        []string
	descriptions []string
}

// argumentsOf reads a schema. What is no JSON says nothing.
func argumentsOf(doc json.RawMessage) arguments {
	var root any
	var a arguments
	if json.Unmarshal(doc, &root) == nil {
		a.schema(root, 0)
	}
	return a
}

func (a *arguments) schema(node any, depth int) {
	if a.nodes++; a.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		return
	}
	switch node := node.(type) {
	case []any:
		for _, member := range node {
			a.schema(member, depth+1)
		}
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(node)) {
			a.keyword(keyword, node[keyword], depth)
		}
	}
}

func (a *arguments) keyword(keyword string, value any, depth int) {
	switch keyword {
	case "description":
		if text, ok := value.(string); ok {
			a.descriptions = append(a.descriptions, text)
		}
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		table, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if keyword == "properties" && a.nodes < maxSchemaNodes {
				a.names = append(a.names, name)
			}
			a.schema(table[name], depth+1)
		}
	case "items", "prefixItems", "additionalItems", "additionalProperties", "contains", "allOf", "anyOf", "oneOf", "if", "then", "else",
		"unevaluatedProperties", "unevaluatedItems":
		a.schema(value, depth+1)
	}
}
