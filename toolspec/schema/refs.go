package schema

import (
	"net/url"
	"slices"
	"strings"
)

// resolve points every $ref at its schema. Only references into the same
// document are taken: pointers, and the plain names of $anchor (in older drafts
// of an id that is a mere fragment). A name that two schemas claim is refused.
func resolve(root *node, d Draft) error {
	places := map[step]*node{}
	if root.anyRef() {
		_ = root.walk(func(n *node) error {
			for _, s := range n.subs {
				places[step{n, s.keyword, s.token}] = s.to
			}
			return nil
		})
	}
	anchors, err := anchorsOf(root, d)
	if err != nil {
		return err
	}
	base := baseOf(root, d)
	err = root.walk(func(n *node) error {
		value, ok := n.object["$ref"]
		if !ok {
			return nil
		}
		at := n.at.with("$ref")
		text, _ := value.(string)
		fragment, local := fragmentOf(text, base)
		if !local {
			return refuse(at, "only references into the same document (#/…) are resolved, nothing is fetched")
		}
		if n.ref = anchors[fragment]; n.ref == nil {
			tokens, ok := splitPointer(fragment)
			if ok && fragment != "/" {
				n.ref = follow(places, root, tokens)
			}
		}
		if n.ref == nil {
			return refuse(at, "the reference leads to no schema of this document")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return checkLoops(root)
}

// step is the way from a schema to one below it. Places are found step by step:
// written out, the names on the way to each could be larger than the document by
// as much as it has schemas.
type step struct {
	from           *node
	keyword, token string
}

// follow goes along a pointer; nil where no schema stands at its end.
func follow(places map[step]*node, from *node, tokens path) *node {
	for len(tokens) > 0 {
		// A schema stands under its keyword, or under a name or an index below that.
		to := places[step{from, tokens[0], ""}]
		if to != nil && len(to.at) > len(from.at)+1 {
			to = nil
		}
		if len(tokens) > 1 && to == nil {
			to = places[step{from, tokens[0], tokens[1]}]
		}
		if to == nil {
			return nil
		}
		from, tokens = to, tokens[len(to.at)-len(from.at):]
	}
	return from
}

func (n *node) anyRef() bool {
	if _, ok := n.object["$ref"]; ok {
		return true
	}
	return slices.ContainsFunc(n.subs, func(s sub) bool { return s.to.anyRef() })
}

// baseOf is the URI by which the document names itself, or nil.
func baseOf(root *node, d Draft) *url.URL {
	name := "$id"
	if d == Draft04 {
		name = "id"
	}
	id, ok := root.text(name)
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

// fragmentOf returns what a reference points at within the document, unescaped.
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
	target = base.ResolveReference(target)
	target.Fragment, target.RawFragment = "", ""
	return fragment, target.String() == base.String()
}

// anchorsOf collects the plain names of a document.
func anchorsOf(root *node, d Draft) (map[string]*node, error) {
	anchors := map[string]*node{}
	err := root.walk(func(n *node) error {
		keyword := "$anchor"
		name, _ := n.text(keyword)
		if d < Draft2019 {
			if keyword = "$id"; d == Draft04 {
				keyword = "id"
			}
			id, _ := n.text(keyword)
			if _, ignored := n.object["$ref"]; ignored {
				return nil
			}
			_, name, _ = strings.Cut(id, "#")
		}
		if name == "" {
			return nil
		}
		if anchors[name] != nil {
			return refuse(n.at.with(keyword), "two schemas are named %s", printable(cut(name)))
		}
		anchors[name] = n
		return nil
	})
	return anchors, err
}

// checkLoops refuses a schema that applies itself to the same value: no verdict
// follows from it. Recursion that descends into the
// instance is fine, for instances end. It also weighs every schema.
func checkLoops(root *node) error {
	const (
		open = iota + 1
		done
	)
	state := map[*node]int{}
	var visit func(*node) error
	visit = func(n *node) error {
		switch state[n] {
		case open:
			return refuse(n.at, "the schema refers to itself without descending into the value")
		case done:
			return nil
		}
		state[n] = open
		n.weight = 1 + n.ownWeight()
		for next := range n.applied {
			if err := visit(next); err != nil {
				return err
			}
			n.weight = min(n.weight+next.weight, maxEffort+1)
			n.program = min(n.program+next.program, maxPatternsTotal)
		}
		if n.weight > maxEffort {
			return refuse(n.at, "the schema applies too many subschemas to one value")
		}
		state[n] = done
		return nil
	}
	return root.walk(visit)
}

// applied yields the schemas that n applies to its own value.
func (n *node) applied(yield func(*node) bool) {
	if n.ref != nil && !yield(n.ref) {
		return
	}
	if n.ref != nil && n.draft.refAlone() {
		return
	}
	for _, s := range n.subs {
		if inPlace(s.keyword) && !yield(s.to) {
			return
		}
	}
}
