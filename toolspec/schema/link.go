package schema

import (
	"strconv"

	"github.com/kaptinlin/jsonschema"
)

// link walks the document and the compiled tree side by side, so that every
// node knows its compiled schema, and corrects what the library does otherwise
// than the specification.
func link(root *node, compiled *jsonschema.Schema) error {
	if err := pair(root, compiled); err != nil {
		return err
	}
	return root.walk(func(n *node) error {
		s := n.compiled
		if n.ref != nil {
			s.ResolvedRef = n.ref.compiled
		}
		// Media types would be parsed (YAML among them) or fail every instance;
		// both are annotations.
		s.ContentMediaType, s.ContentSchema = nil, nil
		if s.ContentEncoding != nil && *s.ContentEncoding != "base64" {
			s.ContentEncoding = nil
		}
		if s.Pattern != nil {
			warm(s)
		}
		return nil
	})
}

// warm makes the library compile the pattern now: it would do so at first use,
// without a lock. What s applies to the same value would only cost time here.
func warm(s *jsonschema.Schema) {
	ref, all, some, exact, not, cond := s.ResolvedRef, s.AllOf, s.AnyOf, s.OneOf, s.Not, s.If
	s.ResolvedRef, s.AllOf, s.AnyOf, s.OneOf, s.Not, s.If = nil, nil, nil, nil, nil, nil
	s.Validate("")
	s.ResolvedRef, s.AllOf, s.AnyOf, s.OneOf, s.Not, s.If = ref, all, some, exact, not, cond
}

func pair(n *node, compiled *jsonschema.Schema) error {
	if compiled == nil {
		return refuse(n.at, "the validator does not enforce this keyword in this dialect")
	}
	n.compiled = compiled
	if _, ok := n.object["dependencies"]; ok && compiled.DependentRequired == nil && compiled.DependentSchemas == nil {
		return refuse(n.at.with("dependencies"), "2020-12 ignores dependencies: use dependentRequired or dependentSchemas")
	}
	for _, s := range n.subs {
		if err := pair(s.to, child(compiled, s.keyword, s.token)); err != nil {
			return err
		}
	}
	return nil
}

// child finds the compiled schema behind one edge, or nil.
func child(s *jsonschema.Schema, keyword, token string) *jsonschema.Schema {
	switch keyword {
	case "properties":
		return entry(s.Properties, token)
	case "patternProperties":
		return entry(s.PatternProperties, token)
	case "$defs", "definitions":
		return s.Defs[token]
	case "dependentSchemas", "dependencies":
		return s.DependentSchemas[token]
	case "allOf":
		return element(s.AllOf, token)
	case "anyOf":
		return element(s.AnyOf, token)
	case "oneOf":
		return element(s.OneOf, token)
	case "prefixItems":
		return element(s.PrefixItems, token)
	case "items":
		if token != "" { // older drafts: items is an array
			return element(s.PrefixItems, token)
		}
		return s.Items
	case "additionalItems": // applies behind a tuple only, else it means nothing
		if len(s.PrefixItems) > 0 {
			return s.Items
		}
		return new(jsonschema.Schema)
	}
	return single(s, keyword)
}

func single(s *jsonschema.Schema, keyword string) *jsonschema.Schema {
	switch keyword {
	case "additionalProperties":
		return s.AdditionalProperties
	case "propertyNames":
		return s.PropertyNames
	case "contains":
		return s.Contains
	case "not":
		return s.Not
	case "if":
		return s.If
	case "then":
		return s.Then
	case "else":
		return s.Else
	case "unevaluatedItems":
		return s.UnevaluatedItems
	case "unevaluatedProperties":
		return s.UnevaluatedProperties
	case "contentSchema":
		return s.ContentSchema
	}
	return nil
}

func entry(table *jsonschema.SchemaMap, name string) *jsonschema.Schema {
	if table == nil {
		return nil
	}
	return (*table)[name]
}

func element(list []*jsonschema.Schema, token string) *jsonschema.Schema {
	i, err := strconv.Atoi(token)
	if err != nil || i >= len(list) {
		return nil
	}
	return list[i]
}
