package schema

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// checkMeta validates the document against the draft-07 meta-schema, whose
// keywords mean the same in the later drafts: "type": "objekt" or a negative
// length compiles, and then refuses or accepts every instance. Subschemas under
// keywords that draft-07 does not know are checked as documents of their own.
func checkMeta(root *node) error {
	document := make(map[string]any, len(root.object))
	for keyword, value := range root.object {
		if keyword != "$schema" { // it would choose a meta-schema to fetch
			document[keyword] = value
		}
	}
	roots, parts := []*node{root}, []any{document}
	_ = root.walk(func(n *node) error {
		for _, s := range n.subs {
			switch s.keyword {
			case "$defs", "prefixItems", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
				if s.to.object != nil {
					roots, parts = append(roots, s.to), append(parts, s.to.object)
				}
			}
		}
		return nil
	})
	doc, err := encode(map[string]any{"allOf": parts})
	if err != nil {
		return &Refusal{Reason: "not JSON"}
	}
	compiler := jsonschema.NewCompiler().SetDefaultDialect(jsonschema.Draft7)
	clear(compiler.Loaders)
	result, err := compiler.ValidateSchema(doc)
	if err != nil {
		return &Refusal{Reason: "not a JSON Schema: " + err.Error()}
	}
	if result.IsValid() {
		return nil
	}
	at := deepest(result)
	for i, part := range roots {
		if len(at) >= 2 && at[1] == strconv.Itoa(i) {
			return refuse(append(part.at[:len(part.at):len(part.at)], at[2:]...), "not what JSON Schema allows here")
		}
	}
	return refuse(nil, "not a JSON Schema")
}

// deepest is the longest path to a fault, the first in order among equals.
func deepest(result *jsonschema.EvaluationResult) path {
	var longest path
	for _, detail := range result.Details {
		if detail == nil || detail.Valid {
			continue
		}
		below := deepest(detail)
		if token, ok := strings.CutPrefix(detail.InstanceLocation, "/"); ok {
			below = append(path{token}, below...)
		}
		if order := cmp.Or(cmp.Compare(len(longest), len(below)), cmp.Compare(below.key(), longest.key())); order < 0 {
			longest = below
		}
	}
	return longest
}
