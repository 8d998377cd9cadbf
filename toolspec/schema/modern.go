package schema

import (
	"encoding/json"
	"maps"
)

// writer writes the tree of a document as one of 2020-12 with the same meaning,
// whatever its draft; only that 1.0 is no integer in draft-04 cannot be said
// there. References become pointers into the new document;
// identifiers are left out, for nothing outside refers to them.
type writer struct {
	places map[*node]path
	keys   map[*node]string // of what a reference leads to
	refs   int              // bytes of all references
	// after may add to what was written for a schema.
	after func(n *node, out map[string]any)
}

func newWriter(root *node) *writer {
	w := &writer{places: map[*node]path{}, keys: map[*node]string{}}
	w.place(root, nil)
	return w
}

func (w *writer) place(n *node, at path) {
	w.places[n] = at
	for _, s := range n.subs {
		keyword, token := n.modernEdge(s)
		if keyword == "" {
			continue
		}
		below := at.with(keyword)
		if token != "" || shapeOf(keyword) == table {
			below = below.with(token)
		}
		w.place(s.to, below)
	}
}

// modernEdge is where 2020-12 has a subschema; "" where it means nothing.
func (n *node) modernEdge(s sub) (keyword, token string) {
	switch s.keyword {
	case "definitions":
		if _, taken := n.object["$defs"]; taken {
			return "$defs", "definitions." + s.token
		}
		return "$defs", s.token
	case "dependencies":
		return "dependentSchemas", s.token
	case "items":
		if s.token != "" {
			return "prefixItems", s.token
		}
	case "additionalItems":
		if n.additionalItems() == nil {
			return "", ""
		}
		return "items", ""
	}
	return s.keyword, s.token
}

// document writes the whole tree.
func (w *writer) document(root *node) (json.RawMessage, error) {
	out, ok := w.schema(root).(map[string]any)
	if !ok {
		return nil, refuse(nil, "the root is no object")
	}
	return w.encode(out)
}

// encode refuses what references make too large: an anchor of one letter can
// stand at a place whose pointer is as long as the document.
func (w *writer) encode(out map[string]any) (json.RawMessage, error) {
	if w.refs > MaxDocumentBytes {
		return nil, refuse(nil, "too large with its references written out")
	}
	out["$schema"] = Draft2020.URI()
	return encode(out)
}

func (w *writer) schema(n *node) any {
	if n.object == nil {
		return n.boolean
	}
	out := map[string]any{}
	alone := n.ref != nil && n.draft.refAlone()
	for keyword, value := range n.object {
		k, known := vocabulary[keyword]
		switch {
		case keyword == "id", k.role == locates, k.shape != notSchema, alone && k.role == asserts:
		case known && k.in(n.draft) || !known || k.role == annotates:
			out[keyword] = value
		}
	}
	if !alone {
		w.bounds(n, out)
		w.lists(n, out)
	}
	for _, s := range n.subs {
		if alone && vocabulary[s.keyword].role == applies {
			continue
		}
		w.sub(n, s, out)
	}
	if n.ref != nil {
		key, known := w.keys[n.ref]
		if !known {
			key = "#" + w.places[n.ref].key()
			w.keys[n.ref] = key
		}
		out["$ref"], w.refs = key, w.refs+len(key)
	}
	if w.after != nil {
		w.after(n, out)
	}
	return out
}

// bounds turns the boolean bounds of draft-04 into numbers.
func (w *writer) bounds(n *node, out map[string]any) {
	if n.draft != Draft04 {
		return
	}
	for bound, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		delete(out, exclusive)
		if n.object[exclusive] == true {
			out[exclusive] = n.object[bound]
			delete(out, bound)
		}
	}
}

// lists writes what holds no schema inside a keyword that can.
func (w *writer) lists(n *node, out map[string]any) {
	if empty, ok := n.object["properties"].(map[string]any); ok && len(empty) == 0 {
		out["properties"] = map[string]any{}
	}
	dependencies, _ := n.object["dependencies"].(map[string]any)
	needs, _ := n.object["dependentRequired"].(map[string]any)
	needs = maps.Clone(needs)
	for name, value := range dependencies {
		if names, ok := value.([]any); ok {
			if needs == nil {
				needs = map[string]any{}
			}
			needs[name] = names
		}
	}
	if needs != nil {
		out["dependentRequired"] = needs
	}
}

func (w *writer) sub(n *node, s sub, out map[string]any) {
	keyword, token := n.modernEdge(s)
	written := w.schema(s.to)
	switch {
	case keyword == "":
	case token == "" && shapeOf(keyword) != table:
		out[keyword] = written
	case shapeOf(keyword) == table:
		members, ok := out[keyword].(map[string]any)
		if !ok {
			members = map[string]any{}
			out[keyword] = members
		}
		members[token] = written
	default:
		members, _ := out[keyword].([]any)
		out[keyword] = append(members, written)
	}
}
