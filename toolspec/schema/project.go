package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

const (
	// maxProjection bounds the work of a projection: visitCost for each visit of a schema, and the bytes of each schema that is written.
	// Without the bound, a short document whose references double at each level of a path needs more time and memory than a machine has.
	maxProjection = 16 * jsonschema.MaxDocumentBytes
	visitCost     = 32
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
// does not strip what it meant to keep. It is an error, too, if references lead
// to so many schemas that the projection would be too large.
func Project(doc json.RawMessage, allow []string) (json.RawMessage, error) {
	root, err := jsonschema.ParseValue(doc)
	if err != nil {
		return nil, err
	}
	work := &bound{}
	paths := make([]strictjson.Path, 0, len(allow))
	for _, entry := range allow {
		tokens, ok := strictjson.SplitPointer(entry)
		if !ok {
			return nil, fmt.Errorf("allow path %q is not a JSON pointer: start it with /", entry)
		}
		alone := &projection{work: work, dry: true}
		alone.keep(root, []strictjson.Path{tokens}, true)
		if work.bytes > maxProjection {
			return nil, errProjection
		}
		if !alone.met {
			return nil, fmt.Errorf("allow path %q names nothing in the output schema", entry)
		}
		paths = append(paths, tokens)
	}
	kept := (&projection{work: work}).keep(root, paths, true)
	if work.bytes > maxProjection {
		return nil, errProjection
	}
	object, ok := kept.(map[string]any)
	if kept == true {
		object, ok = map[string]any{}, true
	}
	if !ok {
		return nil, fmt.Errorf("nothing is left of the output schema")
	}
	whole, _ := asWritten(root).(map[string]any)
	for _, keyword := range []string{"$schema", "$defs", "definitions"} {
		if value, ok := whole[keyword]; ok {
			object[keyword] = value
		}
	}
	if !references(object) {
		delete(object, "$defs")
		delete(object, "definitions")
	}
	projected, err := strictjson.Encode(object)
	if err != nil {
		return nil, err
	}
	if _, err := jsonschema.ParseValue(projected); err != nil {
		return nil, fmt.Errorf("projected schema: %w", err)
	}
	return projected, nil
}

// asWritten is a schema as the document has it.
func asWritten(n *jsonschema.Node) any {
	return rewrite(n, func(*jsonschema.Node, map[string]any) {})
}

// errProjection says that a projection exceeds maxProjection.
var errProjection = jsonschema.Refuse(nil, "too large with its references written out")

// projection notes whether a path has met a schema.
type projection struct {
	met bool
	// work is what the projections of a document have cost.
	work *bound
	// dry says that nothing is written, because only met matters.
	dry bool
}

// visit counts a visit of a schema. It reports whether the projection may go on.
func (p *projection) visit(n *jsonschema.Node) bool {
	if p.work.bytes += visitCost; !p.dry {
		p.work.add(n)
	}
	return p.work.bytes <= maxProjection
}

// whole returns n with all below it.
func (p *projection) whole(n *jsonschema.Node) any {
	if p.dry || n.Walk(func(below *jsonschema.Node) error {
		if !p.visit(below) {
			return errProjection
		}
		return nil
	}) != nil {
		return true
	}
	return asWritten(n)
}

// below returns the rests of the paths that begin with this name.
func below(paths []strictjson.Path, name string) []strictjson.Path {
	var rest []strictjson.Path
	for _, p := range paths {
		if len(p) > 0 && (p[0] == name || p[0] == "*") {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

// starred returns the rests of the paths that begin with *.
func starred(paths []strictjson.Path) []strictjson.Path {
	return below(paths, "*")
}

// endsHere reports whether one of the paths ends here.
func endsHere(paths []strictjson.Path) bool {
	return slices.ContainsFunc(paths, func(p strictjson.Path) bool { return len(p) == 0 })
}

// keep returns what paths leave of n. closed says that n alone decides which
// fields the value may have, so that an open object can be closed.
func (p *projection) keep(n *jsonschema.Node, paths []strictjson.Path, closed bool) any {
	if !p.visit(n) {
		return true
	}
	if endsHere(paths) {
		p.met = true
		return p.whole(n)
	}
	if isUntyped(n) { // anything goes here, below it as well
		p.met = p.met || len(paths) > 0
		return n.Object == nil && n.Boolean || n.Object != nil
	}
	if n.Ref != nil && n.RefAlone() {
		return p.keep(n.Ref, paths, closed)
	}
	out := map[string]any{}
	for _, keyword := range []string{
		"title", "description", "$comment", "type", "maxItems", "maxProperties", "deprecated", "readOnly", "writeOnly",
	} {
		if value, ok := n.Object[keyword]; ok {
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
func (p *projection) combined(n *jsonschema.Node, paths []strictjson.Path, out map[string]any) {
	all := []any{}
	if n.Ref != nil {
		all = append(all, p.keep(n.Ref, paths, false))
	}
	var some, exact []any
	for _, s := range n.Subs {
		switch s.Keyword {
		case "allOf":
			all = append(all, p.keep(s.To, paths, false))
		case "anyOf":
			some = append(some, p.keep(s.To, paths, false))
		case "oneOf":
			exact = append(exact, p.keep(s.To, paths, false))
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
func (p *projection) elements(n *jsonschema.Node, paths []strictjson.Path, out map[string]any) {
	rest := starred(paths)
	for _, s := range n.Subs {
		switch s.Keyword {
		case "items", "prefixItems", "additionalItems", "unevaluatedItems":
		default:
			continue
		}
		if len(rest) == 0 {
			out["maxItems"] = json.Number("0") // every element is stripped
			continue
		}
		projected := p.keep(s.To, rest, true)
		if s.Keyword == "items" && s.Name == "" && !isTuple(n) {
			out["items"] = projected
		}
	}
}

func isTuple(n *jsonschema.Node) bool {
	return slices.ContainsFunc(n.Subs, func(s jsonschema.Sub) bool { return s.Keyword == "prefixItems" })
}

// isUntyped reports whether no keyword of n restricts the value. It is also true for the schemas true and false: check
// n.Boolean.
func isUntyped(n *jsonschema.Node) bool {
	for keyword := range n.Object {
		switch keyword {
		case "$schema", "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly":
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
	case *table:
		return references(value.of)
	case []any:
		return slices.ContainsFunc(value, refersIn)
	}
	return false
}
