package jsonschema

import (
	"slices"
	"strings"
)

// The dialects of OpenAPI, as $schema names them. Any other name below the same
// directory, such as a date, is taken too.
const (
	OpenAPI30 = "https://spec.openapis.org/oas/3.0/dialect/base"
	OpenAPI31 = "https://spec.openapis.org/oas/3.1/dialect/base"
)

// openAPIDraft is the draft that a dialect of OpenAPI is built on. OpenAPI 3.0 is
// draft-04 with the word nullable, OpenAPI 3.1 is 2020-12 with annotations.
func openAPIDraft(dialect any) (Draft, bool) {
	uri, _ := dialect.(string)
	for known, d := range map[string]Draft{OpenAPI30: Draft04, OpenAPI31: Draft2020} {
		if strings.HasPrefix(uri, strings.TrimSuffix(known, "base")) {
			return d, true
		}
	}
	return 0, false
}

// translate rewrites the tree of a document of OpenAPI in the words of the draft
// below its dialect, so that all that reads the tree or writes it again knows no
// dialect. nullable adds null to the type beside it; without a type it says nothing
// (OpenAPI 3.0.3), which [Node.IdleNullable] keeps for [schema.Lint].
func (n *Node) translate() error {
	d, ok := openAPIDraft(n.Object["$schema"])
	if !ok {
		return nil
	}
	n.Object["$schema"], n.Translated = d.URI(), true
	if d != Draft04 {
		return nil
	}
	return n.Walk(func(n *Node) error {
		value, there := n.Object["nullable"]
		if !there {
			return nil
		}
		nullable, ok := value.(bool)
		if !ok {
			return Refuse(n.At.With("nullable"), "nullable is true or false")
		}
		delete(n.Object, "nullable")
		types, isList := n.Object["type"].([]any)
		if kind := n.Object["type"]; !isList && kind != nil {
			types = []any{kind}
		}
		switch {
		case !nullable:
		case types == nil:
			n.IdleNullable = true
		case !slices.Contains(types, any("null")):
			n.Object["type"] = append(slices.Clone(types), "null")
		}
		return nil
	})
}
