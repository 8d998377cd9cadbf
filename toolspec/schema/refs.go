package schema

import (
	"net/url"
	"strings"
)

// resolve points every $ref at its schema. Only pointers into the same document
// are taken; the validator's own resolution is not used, for it looks for a
// pointer in the enclosing schemas before it looks in the root.
func resolve(root *node) error {
	places := map[string]*node{}
	_ = root.walk(func(n *node) error {
		places[n.at.key()] = n
		return nil
	})
	err := root.walk(func(n *node) error {
		value, ok := n.object["$ref"]
		if !ok {
			return nil
		}
		at := n.at.with("$ref")
		text, ok := value.(string)
		pointer, local := strings.CutPrefix(text, "#")
		if !ok || !local {
			return refuse(at, "only references into the same document (#/…) are resolved, nothing is fetched")
		}
		pointer, err := url.PathUnescape(pointer)
		if err != nil {
			return refuse(at, "the reference is not a JSON pointer")
		}
		tokens, ok := splitPointer(pointer)
		if n.ref = places[tokens.key()]; !ok || n.ref == nil {
			return refuse(at, "the reference leads to no schema of this document")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return checkLoops(root)
}

// key identifies a place without cutting names.
func (p path) key() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escapeToken(token))
	}
	return b.String()
}

// checkLoops refuses a schema that applies itself to the same value: the
// validator breaks such a loop by accepting. Recursion that descends into the
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
			n.weight = bounded(n.weight + next.weight)
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
	for _, s := range n.subs {
		if inPlace(s.keyword) && !yield(s.to) {
			return
		}
	}
}
