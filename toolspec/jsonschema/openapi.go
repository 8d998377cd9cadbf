package jsonschema

import (
	"slices"
	"strings"
)

// The dialects of OpenAPI, as in $schema. Other names in the same directory, such as a date, are
// accepted too.
const (
	OpenAPI30 = "https://spec.openapis.org/oas/3.0/dialect/base"
	OpenAPI31 = "https://spec.openapis.org/oas/3.1/dialect/base"
)

// openAPIDraft returns the draft on which a dialect of OpenAPI is based. OpenAPI 3.0 is draft-04
// with the keyword nullable. OpenAPI 3.1 is 2020-12 with annotations.
func openAPIDraft(dialect any) (Draft, bool) {
	uri, _ := dialect.(string)
	for known, d := range map[string]Draft{OpenAPI30: Draft04, OpenAPI31: Draft2020} {
		if strings.HasPrefix(uri, strings.TrimSuffix(known, "base")) {
			return d, true
		}
	}
	return 0, false
}

// translate rewrites the tree of an OpenAPI document in the keywords of the underlying draft, so
// that other code needs to know no dialect. nullable adds null to the type beside it. Without a
// type it has no effect (OpenAPI 3.0.3), which [Node.IdleNullable] records for [schema.Lint].
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
