package schema

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// writer writes the tree of a document of any draft as 2020-12 with the same meaning. Only one rule
// has no equivalent: 1.0 is not an integer in draft-04. References become pointers into the new
// document. A schema that only references reach is written in $defs. Identifiers are left out,
// because nothing outside refers to them.
type writer struct {
	places map[*jsonschema.Node]strictjson.Path
	keys   map[*jsonschema.Node]string // keys of the targets of references
	refs   int                         // bytes of all references
	defs   map[string]any              // names in the $defs of the root
	moved  []*jsonschema.Node          // schemas without a place in the tree, to be written in $defs
	bare   *jsonschema.Node            // the schema that is written without the keywords of hidden
	hidden []string
	// after may change the copy of a schema.
	after func(n *jsonschema.Node, out map[string]any)
}

func newWriter(root *jsonschema.Node) *writer {
	w := &writer{places: map[*jsonschema.Node]strictjson.Path{}, keys: map[*jsonschema.Node]string{}, defs: map[string]any{}}
	w.place(root, nil)
	for _, s := range root.Subs {
		if keyword, name := modernEdge(root, s); keyword == "$defs" {
			w.defs[name] = nil
		}
	}
	return w
}

// place records the places of n and of the schemas below it, if they have one. A schema below it that
// has a place keeps it, because references name this place.
func (w *writer) place(n *jsonschema.Node, at strictjson.Path) {
	w.places[n] = at
	for _, s := range n.Subs {
		keyword, token := modernEdge(n, s)
		if keyword == "" || isIgnored(n, s) || sharesPlace(n, s) || w.places[s.To] != nil {
			continue
		}
		below := at.With(keyword)
		if token != "" || jsonschema.HoldsTable(keyword) {
			below = below.With(token)
		}
		w.place(s.To, below)
	}
}

// leaveOut forgets the places of n and of the schemas below it, which the caller writes elsewhere.
func (w *writer) leaveOut(n *jsonschema.Node) {
	_ = n.Walk(func(n *jsonschema.Node) error {
		delete(w.places, n)
		return nil
	})
}

// key returns the reference to a schema. A schema without a place gets one in $defs.
func (w *writer) key(n *jsonschema.Node) string {
	key, known := w.keys[n]
	if known {
		return key
	}
	if _, placed := w.places[n]; !placed {
		name := freeName(w.defs, "")
		w.defs[name] = nil
		w.place(n, strictjson.Path{"$defs", name})
		w.moved = append(w.moved, n)
	}
	key = "#" + w.places[n].Pointer()
	w.keys[n] = key
	return key
}

// isIgnored reports whether a subschema has no effect because of $ref beside it.
func isIgnored(n *jsonschema.Node, s jsonschema.Sub) bool {
	return n.Ref != nil && n.Draft.RefAlone() && jsonschema.RoleOf(s.Keyword) == jsonschema.Applies
}

// sharesPlace reports whether a subschema of dependencies and one of dependentSchemas have the same
// name. 2019-09 has both keywords. They are written as one schema.
func sharesPlace(n *jsonschema.Node, s jsonschema.Sub) bool {
	twin := map[string]string{"dependencies": "dependentSchemas", "dependentSchemas": "dependencies"}[s.Keyword]
	others, _ := n.Object[twin].(map[string]any)
	other, there := others[s.Name]
	_, names := other.([]any)
	return there && !names
}

// modernEdge returns the place of a subschema in 2020-12; "" if the subschema has no meaning there.
func modernEdge(n *jsonschema.Node, s jsonschema.Sub) (keyword, token string) {
	switch s.Keyword {
	case "definitions":
		if _, taken := n.Object["$defs"]; taken {
			return "$defs", "definitions." + s.Name
		}
		return "$defs", s.Name
	case "dependencies":
		return "dependentSchemas", s.Name
	case "items":
		if s.Name != "" {
			return "prefixItems", s.Name
		}
	case "additionalItems":
		if n.AdditionalItems() == nil {
			return "", ""
		}
		return "items", ""
	}
	return s.Keyword, s.Name
}

// document returns the whole tree as a document.
func (w *writer) document(root *jsonschema.Node) (json.RawMessage, error) {
	out, ok := w.schema(root).(map[string]any)
	if !ok {
		return nil, jsonschema.Refuse(nil, "the root is no object")
	}
	return w.encode(out)
}

// encode refuses a document that references make too large: a short anchor can become a pointer as
// long as the document.
func (w *writer) encode(out map[string]any) (json.RawMessage, error) {
	w.writeMoved(out)
	if w.refs > jsonschema.MaxDocumentBytes {
		return nil, jsonschema.Refuse(nil, "too large with its references written out")
	}
	out["$schema"] = jsonschema.Draft2020.URI()
	return strictjson.Encode(out)
}

// writeMoved writes the schemas without a place into $defs.
func (w *writer) writeMoved(out map[string]any) {
	if len(w.moved) == 0 {
		return
	}
	defs, ok := out["$defs"].(map[string]any)
	if !ok {
		defs = map[string]any{}
		out["$defs"] = defs
	}
	for len(w.moved) > 0 { // a schema can refer to another without a place
		n := w.moved[0]
		w.moved = w.moved[1:]
		defs[lastOf(w.places[n])] = w.schema(n)
	}
}

// without writes n without the subschemas and values of some keywords.
func (w *writer) without(n *jsonschema.Node, keywords []string) any {
	w.bare, w.hidden = n, keywords
	defer func() { w.bare = nil }()
	return w.schema(n)
}

func (w *writer) schema(n *jsonschema.Node) any {
	if n.Object == nil {
		return n.Boolean
	}
	out := map[string]any{}
	alone := n.Ref != nil && n.Draft.RefAlone()
	hides := func(keyword string) bool { return n == w.bare && slices.Contains(w.hidden, keyword) }
	for keyword, value := range n.Object {
		role := jsonschema.RoleOf(keyword)
		switch {
		case hides(keyword):
		case keyword == "id", role == jsonschema.Locates, jsonschema.HoldsSchemas(keyword), alone && role == jsonschema.Asserts:
		case role == jsonschema.Annotates && !n.Draft.Knows(keyword) && !jsonschema.FitsNewest(keyword, value):
			// The keyword has no meaning in the draft of the document, and 2020-12 refuses its
			// value.
		case role == 0 || role == jsonschema.Annotates || n.Draft.Knows(keyword):
			out[keyword] = value
		}
	}
	if !alone {
		w.bounds(n, out)
		if n.Object["properties"] != nil {
			out["properties"] = tableFor(n) // their names in order; sub adds the schemas
		}
		w.writeDependentRequired(n, out)
	}
	for _, s := range n.Subs {
		if !hides(s.Keyword) && !isIgnored(n, s) {
			w.sub(n, s, out)
		}
	}
	if n.Ref != nil {
		key := w.key(n.Ref)
		out["$ref"], w.refs = key, w.refs+len(key)
	}
	if w.after != nil {
		w.after(n, out)
	}
	return out
}

// bounds converts the boolean bounds of draft-04 to numbers.
func (w *writer) bounds(n *jsonschema.Node, out map[string]any) {
	if n.Draft != jsonschema.Draft04 {
		return
	}
	for bound, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		delete(out, exclusive)
		if n.Object[exclusive] == true {
			out[exclusive] = n.Object[bound]
			delete(out, bound)
		}
	}
}

// writeDependentRequired writes the lists of names in dependentRequired, and in dependencies, which 2020-12 does not have, as
// dependentRequired.
func (w *writer) writeDependentRequired(n *jsonschema.Node, out map[string]any) {
	dependencies, _ := n.Object["dependencies"].(map[string]any)
	needs, _ := n.Object["dependentRequired"].(map[string]any)
	needs = maps.Clone(needs)
	for name, value := range dependencies {
		if names, ok := value.([]any); ok {
			if needs == nil {
				needs = map[string]any{}
			}
			before, _ := needs[name].([]any)
			needs[name] = slices.Concat(before, slices.DeleteFunc(slices.Clone(names), func(one any) bool { return slices.Contains(before, one) }))
		}
	}
	if needs != nil {
		out["dependentRequired"] = needs
	}
}

func (w *writer) sub(n *jsonschema.Node, s jsonschema.Sub, out map[string]any) {
	keyword, token := modernEdge(n, s)
	if keyword == "" {
		return
	}
	written := w.schema(s.To)
	switch {
	case token == "" && !jsonschema.HoldsTable(keyword):
		out[keyword] = written
	case keyword == "properties":
		fieldsOf(out).of[token] = written
	case jsonschema.HoldsTable(keyword):
		members, ok := out[keyword].(map[string]any)
		if !ok {
			members = map[string]any{}
			out[keyword] = members
		}
		if twin, taken := members[token]; taken && keyword == "dependentSchemas" {
			written = map[string]any{"allOf": []any{twin, written}}
		}
		members[token] = written
	default:
		members, _ := out[keyword].([]any)
		out[keyword] = append(members, written)
	}
}
