package jsonschema

import (
	"encoding/json"
	"iter"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Outline parses a document without the checks of [Parse]. It is for code that needs the structure of a schema and no
// evaluator. Subs has no subschema whose value is neither an object nor a boolean, and a reference that leads to no
// schema has no Target. For a document that is no schema, or that is larger than [MaxDocumentBytes], it returns a Node
// with neither keywords nor subschemas.
func Outline(doc json.RawMessage) *Node {
	if len(doc) > MaxDocumentBytes {
		return new(Node)
	}
	value, err := strictjson.Decode(doc)
	if err != nil {
		return new(Node)
	}
	root, err := parseNode(value, nil, true)
	if err != nil {
		return new(Node)
	}
	_ = root.translate() // a nullable of the wrong form stays
	places := placesOf(root)
	_ = root.Walk(func(n *Node) error {
		if text, ok := n.Text("$ref"); ok {
			if fragment, local := fragmentOf(text, nil); local {
				n.Ref = places.find(root, fragment)
			}
		}
		return nil
	})
	return root
}

// Under yields the subschemas of a keyword, in a fixed order.
func (n *Node) Under(keyword string) iter.Seq[Sub] {
	return func(yield func(Sub) bool) {
		if n == nil {
			return
		}
		for _, s := range n.Subs {
			if s.Keyword == keyword && !yield(s) {
				return
			}
		}
	}
}

// maxRefs bounds a chain of references.
const maxRefs = 16

// Target returns the schema at the end of the references of n: n itself if it has none. It returns
// nil if n is nil, or if a reference leads to nothing, to another document, or in a circle.
func (n *Node) Target() *Node {
	for range maxRefs {
		if n == nil || !n.refers() {
			return n
		}
		n = n.Ref
	}
	return nil
}

func (n *Node) refers() bool {
	_, ok := n.Text("$ref")
	return ok
}

// Types returns the types that the schema names, if any.
func (n *Node) Types() []string {
	if n == nil {
		return nil
	}
	if name, ok := n.Text("type"); ok {
		return []string{name}
	}
	return n.Names("type")
}

// Sub returns the subschema of a keyword that holds a single schema, or nil.
func (n *Node) Sub(keyword string) *Node {
	for s := range n.Under(keyword) {
		if s.Name == "" {
			return s.To
		}
	}
	return nil
}

// List returns the subschemas of a keyword that holds an array of schemas.
func (n *Node) List(keyword string) (list []*Node) {
	for s := range n.Under(keyword) {
		list = append(list, s.To)
	}
	return list
}

// Member returns the schema of a member of an object, after references. It returns nil if the
// schema does not describe the member directly.
func (n *Node) Member(name string) *Node {
	switch {
	case n == nil:
		return nil
	case n.Fields[name] != nil:
		return n.Fields[name].Target()
	case n.Object["patternProperties"] != nil:
		return nil
	default:
		return n.Sub("additionalProperties").Target()
	}
}

// Element returns the schema of an element of an array, after references. It returns nil if the
// schema does not describe the element directly.
func (n *Node) Element(i int) *Node {
	if n == nil {
		return nil
	}
	for _, keyword := range []string{"prefixItems", "items"} {
		if _, tuple := n.Object[keyword].([]any); tuple {
			if list := n.List(keyword); i >= 0 && i < len(list) {
				return list[i].Target()
			}
			return nil
		}
	}
	return n.Sub("items").Target()
}
