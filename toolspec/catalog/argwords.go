package catalog

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Bounds of the part of one input schema that is read. Subschemas beyond a bound are ignored, so
// that the words of one very large document do not fill the index.
const (
	maxSchemaNodes = 2_000 // schemas, with the root
	maxSchemaDepth = 32    // levels below the root
)

// arguments collects the names, descriptions and enum values of the arguments in an input schema,
// at every depth. Names of properties are in alphabetical order, so that equal schemas give equal
// results.
type arguments struct {
	nodes        int
	names        []string
	descriptions []string
	values       []string // the strings of enum
}

// argumentsOf reads a schema. A document that is not JSON has no arguments.
func argumentsOf(doc json.RawMessage) arguments {
	var a arguments
	a.schema(jsonschema.Outline(doc), 0)
	return a
}

func (a *arguments) schema(n *jsonschema.Node, depth int) {
	if a.nodes++; a.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		return
	}
	for _, keyword := range n.Keywords() {
		switch keyword {
		case "description":
			if text, ok := n.Text(keyword); ok {
				a.descriptions = append(a.descriptions, text)
			}
		case "enum":
			a.values = append(a.values, n.Names(keyword)...)
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
			"items", "prefixItems", "additionalItems", "additionalProperties", "contains", "allOf", "anyOf", "oneOf", "if", "then", "else",
			"unevaluatedProperties", "unevaluatedItems":
			for sub := range n.Under(keyword) {
				if keyword == "properties" && a.nodes < maxSchemaNodes {
					a.names = append(a.names, sub.Name)
				}
				a.schema(sub.To, depth+1)
			}
		}
	}
}
