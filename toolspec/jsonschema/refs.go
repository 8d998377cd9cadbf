package jsonschema

import (
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// resolve sets the target of every $ref. It accepts only references into the same document:
// pointers, and names of $anchor (in older drafts, of an id that is only a fragment). It refuses a
// name that two schemas define.
func resolve(root *Node, d Draft) error {
	places := placesOf(root)
	anchors, err := anchorsOf(root, d)
	if err != nil {
		return err
	}
	base := baseOf(root, d)
	err = root.Walk(func(n *Node) error {
		value, ok := n.Object["$ref"]
		if !ok {
			return nil
		}
		at := n.At.With("$ref")
		text, _ := value.(string)
		fragment, local := fragmentOf(text, base)
		if !local {
			return Refuse(at, "only references into the same document (#/…) are resolved, nothing is fetched")
		}
		if n.Ref = anchors[fragment]; n.Ref == nil {
			n.Ref = places.find(root, fragment)
		}
		if n.Ref == nil {
			return Refuse(at, "the reference leads to no schema of this document")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return checkLoops(root)
}

// step leads from a schema to one of its subschemas: by a keyword alone, as "not", or by a keyword
// and a name or index, as "properties" and "amount". Places are kept by their last step and not by
// their whole pointers, because the pointers of deep schemas together can be much larger than the
// document.
type step struct {
	from          *Node
	keyword, name string
	named         bool // a name can be the empty string
}

// places are the subschemas of a document by the last step to them.
type places map[step]*Node

// placesOf returns the places of a document that has references, and nil for other documents.
func placesOf(root *Node) places {
	p := places{}
	if root.anyRef() {
		_ = root.Walk(func(n *Node) error {
			for _, s := range n.Subs {
				p[step{n, s.Keyword, s.Name, len(s.To.At) > len(n.At)+1}] = s.To
			}
			return nil
		})
	}
	return p
}

// find returns the schema at a pointer from the root, or nil.
func (p places) find(root *Node, pointer string) *Node {
	tokens, ok := strictjson.SplitPointer(pointer)
	if !ok || pointer == "/" {
		return nil
	}
	return p.follow(root, tokens)
}

// follow returns the schema to which the tokens of a pointer lead from a schema. It returns nil if
// they lead to no schema.
func (p places) follow(from *Node, tokens strictjson.Path) *Node {
	for len(tokens) > 0 {
		used, to := 1, p[step{from: from, keyword: tokens[0]}]
		if to == nil && len(tokens) > 1 {
			used, to = 2, p[step{from: from, keyword: tokens[0], name: tokens[1], named: true}]
		}
		if to == nil {
			return nil
		}
		from, tokens = to, tokens[used:]
	}
	return from
}

func (n *Node) anyRef() bool {
	if _, ok := n.Object["$ref"]; ok {
		return true
	}
	return slices.ContainsFunc(n.Subs, func(s Sub) bool { return s.To.anyRef() })
}

// baseOf returns the URI that the document declares as its own, or nil.
func baseOf(root *Node, d Draft) *url.URL {
	name := "$id"
	if d == Draft04 {
		name = "id"
	}
	id, ok := root.Text(name)
	if !ok {
		return nil
	}
	base, err := url.Parse(id)
	if err != nil {
		return nil
	}
	base.Fragment, base.RawFragment = "", ""
	return base
}

// fragmentOf returns the unescaped fragment of a reference. local is false if the reference leads
// out of the document.
func fragmentOf(text string, base *url.URL) (fragment string, local bool) {
	target, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	fragment = target.Fragment
	if strings.HasPrefix(text, "#") {
		return fragment, true
	}
	if base == nil || text == "" {
		return "", false
	}
	target.Fragment, target.RawFragment = "", ""
	if target.String() == base.String() { // also a relative $id, to which no reference resolves
		return fragment, true
	}
	return fragment, base.ResolveReference(target).String() == base.String()
}

// anchorsOf returns the schemas of a document by their plain names.
func anchorsOf(root *Node, d Draft) (map[string]*Node, error) {
	anchors := map[string]*Node{}
	err := root.Walk(func(n *Node) error {
		keyword := "$anchor"
		name, _ := n.Text(keyword)
		if d < Draft2019 {
			if keyword = "$id"; d == Draft04 {
				keyword = "id"
			}
			id, _ := n.Text(keyword)
			if _, ignored := n.Object["$ref"]; ignored {
				return nil
			}
			_, name, _ = strings.Cut(id, "#")
		}
		if name == "" {
			return nil
		}
		if anchors[name] != nil {
			return Refuse(n.At.With(keyword), "two schemas are named %s", strictjson.Printable(strictjson.Cut(name)))
		}
		anchors[name] = n
		return nil
	})
	return anchors, err
}

// checkLoops refuses a schema that applies itself to the same value, because it gives no verdict.
// Recursion into parts of the instance is allowed, because an instance is finite. checkLoops also
// computes the weight of every schema.
func checkLoops(root *Node) error {
	const (
		open = iota + 1
		done
	)
	state := map[*Node]int{}
	var visit func(*Node) error
	visit = func(n *Node) error {
		switch state[n] {
		case open:
			return Refuse(n.At, "the schema refers to itself without descending into the value")
		case done:
			return nil
		}
		state[n] = open
		n.weight = 1 + n.ownWeight()
		for next := range n.Applied {
			if err := visit(next); err != nil {
				return err
			}
			n.weight = min(n.weight+next.weight, maxEffort+1)
			n.program = min(n.program+next.program, maxPatternsTotal)
		}
		if n.weight > maxEffort {
			return Refuse(n.At, "the schema applies too many subschemas to one value")
		}
		state[n] = done
		return nil
	}
	return root.Walk(visit)
}

// Applied yields the schemas that n applies to the same value.
func (n *Node) Applied(yield func(*Node) bool) {
	if n.Ref != nil && !yield(n.Ref) {
		return
	}
	if n.Ref != nil && n.Draft.RefAlone() {
		return
	}
	for _, s := range n.Subs {
		if AppliesInPlace(s.Keyword) && !yield(s.To) {
			return
		}
	}
}
