package policy

import (
	"encoding/json"
	"slices"
	"strings"
)

// kind is the type of a value, as conditions use it.
type kind int

const (
	// anything is a value whose type the schema does not say.
	anything kind = iota
	boolean
	whole
	number
	text
	list
	object
)

// shape is the part of a schema that the check of conditions uses.
type shape struct {
	kind kind
	// null says that the value may also be null.
	null bool
	// elem is the shape of the elements of a list, or of the unnamed members of an object.
	elem *shape
	// fields are the named members of an object. open says that it may have other members.
	fields map[string]*shape
	open   bool
}

// maxShape is the maximum depth to which a schema is read. Deeper values have the kind anything.
const maxShape = 16

// shapeOf reads the schema of a tool's arguments. Parts that it does not understand become
// anything, so that no condition is refused because of them.
func shapeOf(schema json.RawMessage) *shape {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return &shape{}
	}
	s := (&schemaReader{root: root}).shape(root, 0)
	if s.kind != object {
		return &shape{}
	}
	return s
}

type schemaReader struct{ root any }

func (r *schemaReader) shape(node any, depth int) *shape {
	schema, ok := node.(map[string]any)
	if !ok || depth > maxShape {
		return &shape{}
	}
	if ref, ok := schema["$ref"].(string); ok {
		return r.shape(r.resolve(ref), depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches, ok := schema[keyword].([]any); ok {
			return r.either(branches, schema, depth)
		}
	}
	if all, ok := schema["allOf"].([]any); ok {
		return r.both(all, schema, depth)
	}
	names, null := typesOf(schema)
	if len(names) != 1 {
		return &shape{}
	}
	s := &shape{null: null}
	switch names[0] {
	case "boolean":
		s.kind = boolean
	case "integer":
		s.kind = whole
	case "number":
		s.kind = number
	case "string":
		s.kind = text
	case "array":
		s.kind, s.elem = list, r.shape(schema["items"], depth+1)
	case "object":
		r.object(s, schema, depth)
	}
	return s
}

// object reads the members of an object. A schema without additionalProperties allows no other
// members here: its author most likely means that, and it lets the check find misspelt names.
func (r *schemaReader) object(s *shape, schema map[string]any, depth int) {
	s.kind, s.fields = object, map[string]*shape{}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		s.fields[name] = r.shape(property, depth+1)
	}
	switch others := schema["additionalProperties"].(type) {
	case bool:
		s.open = others
	case map[string]any:
		s.open = true
		if len(properties) == 0 {
			s.elem = r.shape(others, depth+1)
		}
	case nil:
		s.open = len(properties) == 0
	}
	if schema["patternProperties"] != nil {
		s.open, s.elem = true, nil
	}
}

// either returns the shape of a value that matches one of several schemas.
func (r *schemaReader) either(branches []any, besides map[string]any, depth int) *shape {
	var s *shape
	null := false
	for _, b := range branches {
		if schema, ok := b.(map[string]any); ok && schema["type"] == "null" {
			null = true
			continue
		}
		if s == nil {
			s = r.shape(b, depth+1)
		} else {
			s = merged(s, r.shape(b, depth+1))
		}
	}
	if s == nil {
		return &shape{}
	}
	s = r.andOwn(s, besides, depth)
	s.null = s.null || null
	return s
}

// both returns the shape of a value that matches all of several schemas. An object has the
// members of each schema.
func (r *schemaReader) both(all []any, besides map[string]any, depth int) *shape {
	var s *shape
	for _, part := range all {
		switch next := r.shape(part, depth+1); {
		case s == nil:
			s = next
		case s.kind == object && next.kind == object:
			s = merged(s, next)
		case s.kind == anything:
			s = next
		}
	}
	if s == nil {
		return &shape{}
	}
	return r.andOwn(s, besides, depth)
}

// andOwn adds the properties that a schema has besides its branches.
func (r *schemaReader) andOwn(s *shape, schema map[string]any, depth int) *shape {
	if schema["properties"] == nil {
		return s
	}
	own := &shape{}
	r.object(own, schema, depth)
	if s.kind == object {
		return merged(s, own)
	}
	own.open = own.open || s.kind == anything
	return own
}

// resolve returns the target of a reference within the document, or nil.
func (r *schemaReader) resolve(ref string) any {
	at := r.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		members, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// typesOf lists the types of a schema without null.
func typesOf(schema map[string]any) (names []string, null bool) {
	switch t := schema["type"].(type) {
	case string:
		names = []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	case nil:
		if schema["properties"] != nil {
			names = []string{"object"}
		}
	}
	null = slices.Contains(names, "null")
	return slices.DeleteFunc(names, func(n string) bool { return n == "null" }), null
}

// merged returns the shape of a value that has one of two shapes. An object has the fields of
// both, because a condition may use any of them.
func merged(a, b *shape) *shape {
	if a.kind != b.kind {
		if a.kind+b.kind == whole+number && a.kind != anything && b.kind != anything {
			return &shape{kind: number, null: a.null || b.null}
		}
		return &shape{}
	}
	s := &shape{kind: a.kind, null: a.null || b.null, open: a.open || b.open}
	switch a.kind {
	case list:
		s.elem = merged(a.elem, b.elem)
	case object:
		if a.elem != nil && b.elem != nil {
			s.elem = merged(a.elem, b.elem)
		}
		s.fields = map[string]*shape{}
		for _, one := range []*shape{a, b} {
			for name, field := range one.fields {
				if other := s.fields[name]; other != nil {
					field = merged(other, field)
				}
				s.fields[name] = field
			}
		}
	default:
	}
	return s
}
