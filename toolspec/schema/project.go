package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Project returns what a redaction allowlist keeps of an output schema: the
// schema that the redacted value is checked against (C-03). The notation is
// that of toolspec.Redaction: JSON pointers in which * stands for every element
// of an array and every field of an object; a listed path keeps all below it;
// "" and "/" keep everything.
//
// Fields that are not listed leave properties and required, and closed objects
// stay closed; objects that allow any field are closed to the listed ones. Of a
// value that is kept in part, the rules that only the whole value can meet are
// dropped: enum, const, not, if, dependencies, contains, minItems,
// minProperties, uniqueItems, and the exactly-one of oneOf. A field kept in
// part is required only if it cannot be anything but an object or an array,
// because redaction strips other values there.
//
// An allow path that names nothing in the schema is an error, so that a typo
// does not strip what it meant to keep.
func Project(doc json.RawMessage, allow []string) (json.RawMessage, error) {
	whole, err := Compile(doc)
	if err != nil {
		return nil, err
	}
	paths := make([]path, 0, len(allow))
	for _, entry := range allow {
		tokens, ok := splitPointer(entry)
		if !ok {
			return nil, fmt.Errorf("allow path %q is not a JSON pointer: start it with /", entry)
		}
		alone := &projection{}
		if alone.keep(whole.root, []path{tokens}, true); !alone.met {
			return nil, fmt.Errorf("allow path %q names nothing in the output schema", entry)
		}
		paths = append(paths, tokens)
	}
	kept := new(projection).keep(whole.root, paths, true)
	object, ok := kept.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("nothing is left of the output schema")
	}
	for _, keyword := range []string{"$schema", "$defs", "definitions"} {
		if value, ok := whole.root.object[keyword]; ok {
			object[keyword] = value
		}
	}
	if !references(object) {
		delete(object, "$defs")
		delete(object, "definitions")
	}
	projected, err := encode(object)
	if err != nil {
		return nil, err
	}
	if _, err := Compile(projected); err != nil {
		return nil, fmt.Errorf("projected schema: %w", err)
	}
	return projected, nil
}

// projection notes whether a path has met a schema.
type projection struct {
	met bool
}

// below returns what of the paths lies below a field of this name.
func below(paths []path, name string) []path {
	var rest []path
	for _, p := range paths {
		if len(p) > 0 && (p[0] == name || p[0] == "*") {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

// starred returns what of the paths lies below a leading *.
func starred(paths []path) []path {
	return below(paths, "*")
}

// endsHere reports whether one of the paths ends here.
func endsHere(paths []path) bool {
	return slices.ContainsFunc(paths, func(p path) bool { return len(p) == 0 })
}

// keep returns what paths leave of n. closed says that n alone decides which
// fields the value may have, so that an open object can be closed.
func (p *projection) keep(n *node, paths []path, closed bool) any {
	if endsHere(paths) {
		p.met = true
		if n.object == nil {
			return n.boolean
		}
		return maps.Clone(n.object)
	}
	if n.untyped() { // anything goes here, below it as well
		p.met = p.met || len(paths) > 0
		return n.object == nil && n.boolean || n.object != nil
	}
	if n.ref != nil && n.refAlone() {
		return p.keep(n.ref, paths, closed)
	}
	out := map[string]any{}
	for _, keyword := range []string{
		"title", "description", "$comment", "type", "maxItems", "maxProperties", "deprecated", "readOnly", "writeOnly",
	} {
		if value, ok := n.object[keyword]; ok {
			out[keyword] = value
		}
	}
	p.fields(n, paths, closed, out)
	p.elements(n, paths, out)
	p.combined(n, paths, out)
	return out
}

// combined projects the schemas applied to the same value. None of them may
// close the object: the fields of the others are theirs to allow.
func (p *projection) combined(n *node, paths []path, out map[string]any) {
	all := []any{}
	if n.ref != nil {
		all = append(all, p.keep(n.ref, paths, false))
	}
	var some, exact []any
	for _, s := range n.subs {
		switch s.keyword {
		case "allOf":
			all = append(all, p.keep(s.to, paths, false))
		case "anyOf":
			some = append(some, p.keep(s.to, paths, false))
		case "oneOf":
			exact = append(exact, p.keep(s.to, paths, false))
		}
	}
	if len(exact) > 0 { // several forms may look alike now
		all = append(all, map[string]any{"anyOf": exact})
	}
	if len(some) > 0 {
		out["anyOf"] = some
	}
	if len(all) > 0 {
		out["allOf"] = all
	}
}

// elements projects arrays. A tuple loses its places: elements may be stripped.
func (p *projection) elements(n *node, paths []path, out map[string]any) {
	rest := starred(paths)
	for _, s := range n.subs {
		switch s.keyword {
		case "items", "prefixItems", "additionalItems", "unevaluatedItems":
		default:
			continue
		}
		if len(rest) == 0 {
			out["maxItems"] = json.Number("0") // every element is stripped
			continue
		}
		projected := p.keep(s.to, rest, true)
		if s.keyword == "items" && s.token == "" && !n.tuple() {
			out["items"] = projected
		}
	}
}

func (n *node) tuple() bool {
	return slices.ContainsFunc(n.subs, func(s sub) bool { return s.keyword == "prefixItems" })
}

// untyped reports whether n says nothing about the value, as true and {} do.
func (n *node) untyped() bool {
	for keyword := range n.object {
		switch keyword {
		case "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly":
		default:
			return false
		}
	}
	return true
}

// references reports whether any schema below value still has a $ref.
func references(object map[string]any) bool {
	for keyword, value := range object {
		if keyword == "$ref" {
			return true
		}
		if keyword != "$defs" && keyword != "definitions" && refersIn(value) {
			return true
		}
	}
	return false
}

func refersIn(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return references(value)
	case []any:
		return slices.ContainsFunc(value, refersIn)
	}
	return false
}
