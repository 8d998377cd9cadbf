package jsonschema

import (
	"encoding/json"
	"iter"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Outline reads a document without judging it, for code that explains, sorts or checks
// beside the evaluator. It knows nothing about what it does not understand: a keyword of
// the wrong form is left out, and a reference that leads nowhere has no Target. It
// returns the schema that says nothing for a document that is no JSON, or larger than
// [MaxDocumentBytes].
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
	_ = root.translate() // a nullable of the wrong form is left as it is
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

// Under yields the subschemas that a keyword holds, in a fixed order.
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

// maxRefs bounds how many references follow one another.
const maxRefs = 16

// Target is the schema behind the references of n: n itself where it has none. It is nil
// where n is nil, and where a reference leads nowhere, into another document, or in a
// circle.
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

// Types lists the types that the schema names; none where it names none.
func (n *Node) Types() []string {
	if n == nil {
		return nil
	}
	if name, ok := n.Text("type"); ok {
		return []string{name}
	}
	return n.Names("type")
}

// Sub is the subschema of a keyword that holds a single schema, or nil.
func (n *Node) Sub(keyword string) *Node {
	for s := range n.Under(keyword) {
		if s.Name == "" {
			return s.To
		}
	}
	return nil
}

// List is the subschemas of a keyword that holds an array of schemas.
func (n *Node) List(keyword string) (list []*Node) {
	for s := range n.Under(keyword) {
		list = append(list, s.To)
	}
	return list
}

// Member is the schema of a member of an object, behind its references. It is nil where
// the schema does not say it plainly.
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

// Element is the schema of an element of an array, behind its references. It is nil
// where the schema does not say it plainly.
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
