package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Close returns a document that refuses unknown names. It closes the root and every object that
// lists its fields and has neither additionalProperties nor unevaluatedProperties. It closes an
// object that is composed of several schemas with unevaluatedProperties, so that the parts keep
// their meaning; if the draft of the document does not have this keyword, Close writes the document
// as 2020-12. The closed document accepts nothing that the document refuses, with one exception:
// 1.0 is an integer in 2020-12 and not in draft-04. Arguments in canonical form have 1 for both.
// Fields keep their order. Close leaves out an annotation that the draft of the document does not
// have and whose value 2020-12 refuses. It writes a document of a dialect of OpenAPI in the
// underlying draft.
//
// The findings list what stays open: objects without listed fields, because they are maps;
// conditions (not, if, contains) and the alternatives of oneOf, because there a stricter part could
// make the whole accept more; and schemas that are used both alone and in a composition.
func Close(doc json.RawMessage) (json.RawMessage, []Finding, error) {
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return nil, nil, err
	}
	c := &closer{how: map[*jsonschema.Node]string{}, shared: sharedTargets(root), frozen: map[*jsonschema.Node]bool{}, seen: map[*jsonschema.Node]bool{}}
	_ = root.Walk(func(n *jsonschema.Node) error {
		for _, s := range n.Subs {
			if conditional(s.Keyword) {
				c.freeze(s.To)
			}
		}
		return nil
	})
	c.value(root)
	if len(c.how) == 0 && !root.Translated {
		return slices.Clone(doc), sortFindings(c.findings), nil
	}
	var closed json.RawMessage
	if root.Draft >= jsonschema.Draft2019 || !c.composed {
		closed, err = strictjson.Encode(rewrite(root, c.mark))
	} else {
		w := newWriter(root)
		w.after = c.mark
		closed, err = w.document(root)
	}
	if err != nil {
		return nil, nil, err
	}
	return closed, sortFindings(c.findings), nil
}

// closer selects the schemas to close, and the keyword for each.
type closer struct {
	how      map[*jsonschema.Node]string
	composed bool // some schemas need unevaluatedProperties
	shared   map[*jsonschema.Node]bool
	frozen   map[*jsonschema.Node]bool // a part of a condition, which must stay unchanged
	seen     map[*jsonschema.Node]bool
	findings []Finding
}

// sharedTargets returns the schemas that a reference applies as a part of a composition. If they
// were closed, they would refuse the fields of the other parts.
func sharedTargets(root *jsonschema.Node) map[*jsonschema.Node]bool {
	shared := map[*jsonschema.Node]bool{}
	var part func(n *jsonschema.Node)
	part = func(n *jsonschema.Node) {
		if n.Ref != nil && !shared[n.Ref] {
			shared[n.Ref] = true
			part(n.Ref)
		}
	}
	_ = root.Walk(func(n *jsonschema.Node) error {
		if n.Ref != nil && !n.RefAlone() {
			part(n)
		}
		for _, s := range n.Subs {
			if jsonschema.AppliesInPlace(s.Keyword) || s.Keyword == "contains" {
				part(s.To)
			}
		}
		return nil
	})
	return shared
}

// conditional reports whether a stricter schema below the keyword may make the schema with the
// keyword accept more.
func conditional(keyword string) bool {
	switch keyword {
	case "oneOf", "not", "if", "contains", "propertyNames":
		return true
	}
	return false
}

func (c *closer) freeze(n *jsonschema.Node) {
	if c.frozen[n] {
		return
	}
	c.frozen[n] = true
	if n.Ref != nil {
		c.freeze(n.Ref)
	}
	for _, s := range n.Subs {
		c.freeze(s.To)
	}
}

// value visits a schema that applies to a value as a whole.
func (c *closer) value(n *jsonschema.Node) {
	if c.seen[n] || n.Object == nil {
		return
	}
	c.seen[n] = true
	if n.Ref != nil && n.RefAlone() && !c.shared[n.Ref] && !c.frozen[n.Ref] {
		c.value(n.Ref)
		return
	}
	c.close(n)
	c.below(n, map[*jsonschema.Node]bool{})
}

func (c *closer) close(n *jsonschema.Node) {
	says := saysOpen(n)
	if n.Ref != nil && n.RefAlone() {
		says = saysOpen(n.Ref)
	}
	if says || !describesObject(n, map[*jsonschema.Node]bool{}) {
		return
	}
	composed := false
	for range n.Applied {
		composed = true
	}
	switch {
	case len(n.At) > 0 && !listsFields(n, map[*jsonschema.Node]bool{}):
		c.findings = append(c.findings, found(n.At, "type", LeftOpen, "the object lists no fields"))
	case c.frozen[n]:
		c.findings = append(c.findings, found(n.At, "properties", LeftOpen, "the schema is also a part of a condition"))
	case c.shared[n]:
		c.findings = append(c.findings, found(n.At, "properties", LeftOpen, "the schema is also a part of others"))
	case composed:
		c.how[n], c.composed = "unevaluatedProperties", true
	default:
		c.how[n] = "additionalProperties"
	}
}

// saysOpen reports whether the schema itself has a rule about other fields.
func saysOpen(n *jsonschema.Node) bool {
	_, additional := n.Object["additionalProperties"]
	_, unevaluated := n.Object["unevaluatedProperties"]
	return additional || unevaluated
}

// describesObject reports whether the value may be an object, by its type or by listed fields.
func describesObject(n *jsonschema.Node, seen map[*jsonschema.Node]bool) bool {
	return n.Object["type"] != nil && mayBe(n, "object") || n.Object["type"] == nil && listsFields(n, seen)
}

// listsFields reports whether n, or a schema that it applies in place, lists fields.
func listsFields(n *jsonschema.Node, seen map[*jsonschema.Node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	if !(n.Ref != nil && n.Draft.RefAlone()) && (len(n.Fields) > 0 || n.Object["patternProperties"] != nil) {
		return true
	}
	if n.Ref != nil && listsFields(n.Ref, seen) {
		return true
	}
	for _, s := range n.Subs {
		switch s.Keyword {
		case "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies":
			if !isIgnored(n, s) && listsFields(s.To, seen) {
				return true
			}
		}
	}
	return false
}

// below visits the schemas of the values inside a value, including those in parts of a composition.
func (c *closer) below(n *jsonschema.Node, seen map[*jsonschema.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if n.Ref != nil {
		c.below(n.Ref, seen)
		if n.Draft.RefAlone() {
			return
		}
	}
	for _, s := range n.Subs {
		switch s.Keyword {
		case "properties", "patternProperties", "additionalProperties", "items", "prefixItems", "additionalItems",
			"unevaluatedItems", "unevaluatedProperties":
			c.value(s.To)
		case "allOf", "anyOf", "then", "else", "dependentSchemas", "dependencies":
			c.below(s.To, seen)
		default:
			if conditional(s.Keyword) && holdsObjects(s.To, map[*jsonschema.Node]bool{}) {
				c.findings = append(c.findings, found(n.At, s.Keyword, LeftOpen, "to close objects inside could accept what is refused now"))
			}
		}
	}
}

// holdsObjects reports whether a value inside the value of n may be an object with fields.
func holdsObjects(n *jsonschema.Node, seen map[*jsonschema.Node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	if n.Ref != nil && holdsObjects(n.Ref, seen) {
		return true
	}
	return slices.ContainsFunc(n.Subs, func(s jsonschema.Sub) bool {
		if jsonschema.AppliesInPlace(s.Keyword) {
			return holdsObjects(s.To, seen)
		}
		return jsonschema.RoleOf(s.Keyword) == jsonschema.Applies && (describesObject(s.To, map[*jsonschema.Node]bool{}) || holdsObjects(s.To, seen))
	})
}

// mark adds the keyword that closes a schema.
func (c *closer) mark(n *jsonschema.Node, out map[string]any) {
	if keyword := c.how[n]; keyword != "" {
		out[keyword] = false
	}
}

// rewrite returns a copy of the schema. after may change the copy of n and of each schema below it.
func rewrite(n *jsonschema.Node, after func(n *jsonschema.Node, out map[string]any)) any {
	if n.Object == nil {
		return n.Boolean
	}
	out := make(map[string]any, len(n.Object)+1)
	for keyword, value := range n.Object {
		switch held := value.(type) {
		case []any:
			value = slices.Clone(held)
		case map[string]any:
			value = maps.Clone(held)
		}
		out[keyword] = value
	}
	if n.Object["properties"] != nil {
		out["properties"] = tableFor(n)
	}
	for _, s := range n.Subs {
		written := rewrite(s.To, after)
		switch held := out[s.Keyword].(type) {
		case *table:
			held.of[s.Name] = written
		case []any:
			i, _ := strconv.Atoi(s.Name)
			held[i] = written
		case map[string]any:
			if jsonschema.HoldsTable(s.Keyword) {
				held[s.Name] = written
			} else {
				out[s.Keyword] = written
			}
		}
	}
	after(n, out)
	return out
}
