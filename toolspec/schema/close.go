package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Close returns a document that refuses unknown names: every object that lists
// its fields and does not itself say what else it may hold is closed, and so is
// the root. An object that is composed of several schemas is closed with
// unevaluatedProperties, so that the parts keep their meaning; such a document
// is written as 2020-12 where its draft has no such keyword. It accepts nothing
// that the document refuses, but for one thing: 1.0 is an integer in 2020-12 and
// none in draft-04. Arguments in canonical form have 1 for both.
//
// The findings name what stays open: objects that list no fields, for these are
// maps; conditions (not, if, contains) and the alternatives of oneOf, because
// to accept less there could mean to accept more; and parts that are used on
// their own and in a composition alike.
func Close(doc json.RawMessage) (json.RawMessage, []Finding, error) {
	root, draft, err := analyse(doc)
	if err != nil {
		return nil, nil, err
	}
	c := &closer{how: map[*node]string{}, shared: sharedTargets(root), frozen: map[*node]bool{}, seen: map[*node]bool{}}
	_ = root.walk(func(n *node) error {
		for _, s := range n.subs {
			if conditional(s.keyword) {
				c.freeze(s.to)
			}
		}
		return nil
	})
	c.value(root)
	if len(c.how) == 0 {
		return slices.Clone(doc), sortFindings(c.findings), nil
	}
	var closed json.RawMessage
	if draft >= Draft2019 || !c.composed {
		closed, err = encode(c.rewrite(root))
	} else {
		w := newWriter(root)
		w.after = func(n *node, out map[string]any) {
			if keyword := c.how[n]; keyword != "" {
				out[keyword] = false
			}
		}
		closed, err = w.document(root)
	}
	if err != nil {
		return nil, nil, err
	}
	return closed, sortFindings(c.findings), nil
}

// closer decides which schemas to close, and by which keyword.
type closer struct {
	how      map[*node]string
	composed bool // some need unevaluatedProperties
	shared   map[*node]bool
	frozen   map[*node]bool // part of a condition: must stay as it is
	seen     map[*node]bool
	findings []Finding
}

// sharedTargets are the schemas that a reference applies as one part of a
// composition: closed by themselves, they would refuse the other parts' fields.
func sharedTargets(root *node) map[*node]bool {
	shared := map[*node]bool{}
	var part func(n *node)
	part = func(n *node) {
		if n.ref != nil && !shared[n.ref] {
			shared[n.ref] = true
			part(n.ref)
		}
	}
	_ = root.walk(func(n *node) error {
		if n.ref != nil && !n.refAlone() {
			part(n)
		}
		for _, s := range n.subs {
			if inPlace(s.keyword) || s.keyword == "contains" {
				part(s.to)
			}
		}
		return nil
	})
	return shared
}

// conditional reports whether to accept less below the keyword may mean to
// accept more above it.
func conditional(keyword string) bool {
	switch keyword {
	case "oneOf", "not", "if", "contains", "propertyNames":
		return true
	}
	return false
}

func (c *closer) freeze(n *node) {
	if c.frozen[n] {
		return
	}
	c.frozen[n] = true
	if n.ref != nil {
		c.freeze(n.ref)
	}
	for _, s := range n.subs {
		c.freeze(s.to)
	}
}

// value visits a schema that a value is judged by as a whole.
func (c *closer) value(n *node) {
	if c.seen[n] || n.object == nil {
		return
	}
	c.seen[n] = true
	if n.ref != nil && n.refAlone() && !c.shared[n.ref] && !c.frozen[n.ref] {
		c.value(n.ref)
		return
	}
	c.close(n)
	c.below(n, map[*node]bool{})
}

func (c *closer) close(n *node) {
	says := n.saysOpen()
	if n.ref != nil && n.refAlone() {
		says = n.ref.saysOpen()
	}
	if says || !n.describesObject(map[*node]bool{}) {
		return
	}
	composed := false
	for range n.applied {
		composed = true
	}
	switch {
	case len(n.at) > 0 && !n.listsFields(map[*node]bool{}):
		c.findings = append(c.findings, found(n.at, "type", LeftOpen, "the object lists no fields"))
	case c.frozen[n]:
		c.findings = append(c.findings, found(n.at, "properties", LeftOpen, "the schema is also a part of a condition"))
	case c.shared[n]:
		c.findings = append(c.findings, found(n.at, "properties", LeftOpen, "the schema is also a part of others"))
	case composed:
		c.how[n], c.composed = "unevaluatedProperties", true
	default:
		c.how[n] = "additionalProperties"
	}
}

// saysOpen reports whether the schema itself says what else may be there.
func (n *node) saysOpen() bool {
	_, additional := n.object["additionalProperties"]
	_, unevaluated := n.object["unevaluatedProperties"]
	return additional || unevaluated
}

// describesObject reports whether the value may be an object of listed fields,
// or is said to be an object.
func (n *node) describesObject(seen map[*node]bool) bool {
	return n.object["type"] != nil && n.mayBe("object") || n.object["type"] == nil && n.listsFields(seen)
}

// listsFields reports whether n, or what it applies in place, names fields.
func (n *node) listsFields(seen map[*node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	if !(n.ref != nil && n.draft.refAlone()) && (len(n.fields) > 0 || n.object["patternProperties"] != nil) {
		return true
	}
	if n.ref != nil && n.ref.listsFields(seen) {
		return true
	}
	for _, s := range n.subs {
		switch s.keyword {
		case "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies":
			if s.to.listsFields(seen) {
				return true
			}
		}
	}
	return false
}

// below visits the values inside a value, also those that parts of a
// composition describe.
func (c *closer) below(n *node, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if n.ref != nil {
		c.below(n.ref, seen)
		if n.draft.refAlone() {
			return
		}
	}
	for _, s := range n.subs {
		switch s.keyword {
		case "properties", "patternProperties", "additionalProperties", "items", "prefixItems", "additionalItems",
			"unevaluatedItems", "unevaluatedProperties":
			c.value(s.to)
		case "allOf", "anyOf", "then", "else", "dependentSchemas", "dependencies":
			c.below(s.to, seen)
		default:
			if conditional(s.keyword) && s.to.holdsObjects(map[*node]bool{}) {
				c.findings = append(c.findings, found(n.at, s.keyword, LeftOpen, "to close objects inside could accept what is refused now"))
			}
		}
	}
}

// holdsObjects reports whether some value below n is an object of fields.
func (n *node) holdsObjects(seen map[*node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	if n.ref != nil && n.ref.holdsObjects(seen) {
		return true
	}
	return slices.ContainsFunc(n.subs, func(s sub) bool {
		if inPlace(s.keyword) {
			return s.to.holdsObjects(seen)
		}
		return vocabulary[s.keyword].role == applies && (s.to.describesObject(map[*node]bool{}) || s.to.holdsObjects(seen))
	})
}

// rewrite writes the document again as it was, with what closes it.
func (c *closer) rewrite(n *node) any {
	if n.object == nil {
		return n.boolean
	}
	out := make(map[string]any, len(n.object)+1)
	for keyword, value := range n.object {
		switch held := value.(type) {
		case []any:
			value = slices.Clone(held)
		case map[string]any:
			value = maps.Clone(held)
		}
		out[keyword] = value
	}
	for _, s := range n.subs {
		written := c.rewrite(s.to)
		switch held := out[s.keyword].(type) {
		case []any:
			i, _ := strconv.Atoi(s.token)
			held[i] = written
		case map[string]any:
			if shape := shapeOf(s.keyword); shape == table || shape == depends {
				held[s.token] = written
			} else {
				out[s.keyword] = written
			}
		}
	}
	if keyword := c.how[n]; keyword != "" {
		out[keyword] = false
	}
	return out
}
