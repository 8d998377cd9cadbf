package condition

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
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

func (s *shape) isNumeric() bool { return s.kind == whole || s.kind == number }

const (
	// maxShape is the maximum depth to which a schema is read. Deeper values have the kind anything.
	maxShape = 16
	// maxShapes bounds the shapes that are read of a schema. A schema of 300 bytes that refers to itself from ten places
	// has a billion of them within maxShape.
	maxShapes = 3_000
)

// shapeOf reads the schema of a tool's arguments. Parts that it does not understand become
// anything, so that no condition is refused because of them. It reads a schema with too many shapes less deeply.
func shapeOf(schema json.RawMessage) *shape {
	root := jsonschema.Outline(schema)
	for depth := maxShape; depth > 0; depth /= 2 {
		r := shaper{depth: depth, left: maxShapes}
		s := r.shapeAt(root, 0)
		switch {
		case r.left < 0:
		case s.kind == object:
			return s
		default:
			return &shape{}
		}
	}
	return &shape{}
}

// shaper reads the shape of a schema.
type shaper struct {
	// depth is the depth to which the schema is read.
	depth int
	// left is the number of shapes that may still be read. Below 0 the shape is not complete.
	left int
}

// shapeAt returns the shape of a value that a schema accepts.
func (r *shaper) shapeAt(n *jsonschema.Node, depth int) *shape {
	r.left--
	if n == nil || n.Object == nil || depth > r.depth || r.left < 0 {
		return &shape{}
	}
	s := r.read(n, depth)
	if s.kind == object && hasUnread(n) {
		s.open = true
	}
	return s
}

// hasUnread reports whether a schema has keywords that read does not read and that can describe other members of the same
// object.
func hasUnread(n *jsonschema.Node) bool {
	has := func(keyword string) bool {
		return slices.ContainsFunc(n.Subs, func(s jsonschema.Sub) bool { return s.Keyword == keyword })
	}
	if slices.ContainsFunc([]string{"then", "else", "dependentSchemas", "dependencies"}, has) {
		return true
	}
	combined := 0 // read reads one of them, and properties beside the last three
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if has(keyword) {
			combined++
		}
	}
	if _, isRef := n.Text("$ref"); isRef {
		return combined > 0 || has("properties") // drafts before 2019-09 ignore them, and Outline does not tell the draft
	}
	return combined > 1
}

// read returns the shape that one of $ref, anyOf, oneOf, allOf and type describes, in this order.
func (r *shaper) read(n *jsonschema.Node, depth int) *shape {
	if _, ok := n.Text("$ref"); ok {
		return r.shapeAt(n.Ref, depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := n.List(keyword); branches != nil {
			return r.eitherOf(branches, n, depth)
		}
	}
	if all := n.List("allOf"); all != nil {
		return r.bothOf(all, n, depth)
	}
	names, null := typesOf(n)
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
		s.kind, s.elem = list, r.shapeAt(n.Sub("items"), depth+1)
	case "object":
		r.addMembers(s, n, depth)
	}
	return s
}

// addMembers reads the members of an object. A schema without additionalProperties allows no other
// members here: its author most likely means that, and it lets the check find misspelt names.
func (r *shaper) addMembers(s *shape, n *jsonschema.Node, depth int) {
	s.kind, s.fields = object, map[string]*shape{}
	for name, property := range n.Fields {
		s.fields[name] = r.shapeAt(property, depth+1)
	}
	switch others := n.Object["additionalProperties"].(type) {
	case bool:
		s.open = others
	case map[string]any:
		s.open = true
		if len(n.Fields) == 0 {
			s.elem = r.shapeAt(n.Sub("additionalProperties"), depth+1)
		}
	case nil:
		s.open = len(n.Fields) == 0
	}
	if n.Object["patternProperties"] != nil {
		s.open, s.elem = true, nil
	}
}

// eitherOf returns the shape of a value that matches one of several schemas, the branches. siblings is the schema
// that has the keyword anyOf or oneOf: its own properties apply too.
func (r *shaper) eitherOf(branches []*jsonschema.Node, siblings *jsonschema.Node, depth int) *shape {
	var s *shape
	null := false
	for _, b := range branches {
		if b.Object["type"] == "null" {
			null = true
			continue
		}
		if s == nil {
			s = r.shapeAt(b, depth+1)
		} else {
			s = merged(s, r.shapeAt(b, depth+1))
		}
	}
	if s == nil {
		return &shape{}
	}
	s = r.andOwn(s, siblings, depth)
	s.null = s.null || null
	return s
}

// bothOf returns the shape of a value that matches all of several schemas. An object has the members of each
// schema, and the properties of siblings, the schema that has the keyword allOf.
func (r *shaper) bothOf(all []*jsonschema.Node, siblings *jsonschema.Node, depth int) *shape {
	var s *shape
	for _, part := range all {
		switch next := r.shapeAt(part, depth+1); {
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
	return r.andOwn(s, siblings, depth)
}

// andOwn adds the properties that a schema has besides its branches.
func (r *shaper) andOwn(s *shape, n *jsonschema.Node, depth int) *shape {
	if n.Object["properties"] == nil {
		return s
	}
	own := &shape{}
	r.addMembers(own, n, depth)
	if s.kind == object {
		return merged(s, own)
	}
	own.open = own.open || s.kind == anything
	return own
}

// typesOf lists the types of a schema without null.
func typesOf(n *jsonschema.Node) (names []string, null bool) {
	names = n.Types()
	if n.Object["type"] == nil && n.Object["properties"] != nil {
		names = []string{"object"}
	}
	null = slices.Contains(names, "null")
	return slices.DeleteFunc(names, func(n string) bool { return n == "null" }), null
}

// merged returns the shape of a value that has one of two shapes. An object has the fields of
// both, because a condition may use any of them.
func merged(a, b *shape) *shape {
	if a.kind != b.kind {
		if a.isNumeric() && b.isNumeric() {
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
