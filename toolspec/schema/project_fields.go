package schema

import (
	"regexp"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// fields writes the object keywords of n into out, projected.
func (p *projection) fields(n *jsonschema.Node, paths []strictjson.Path, closed bool, out map[string]any) {
	if !describesFields(n) {
		return
	}
	properties := newTable()
	whole := map[string]bool{} // kept fields that redaction never removes
	for _, name := range n.Order {
		if rest := below(paths, name); len(rest) > 0 {
			if !endsHere(rest) && !mayBe(n.Fields[name], "object") && !mayBe(n.Fields[name], "array") {
				continue // redaction removes a scalar if a path continues below it
			}
			properties.set(name, p.keep(n.Fields[name], rest, true))
			whole[name] = endsHere(rest) || isContainer(n.Fields[name])
		}
	}
	p.patterns(n, paths, properties, out)
	p.additional(n, paths, closed, properties, out)
	if required := n.Names("required"); len(required) > 0 {
		left := []any{}
		for _, name := range required {
			if whole[name] {
				left = append(left, name)
			}
		}
		out["required"] = left
	}
	if len(properties.of) > 0 || n.Fields != nil {
		out["properties"] = properties
	}
}

// describesFields reports whether the value of n can be an object.
func describesFields(n *jsonschema.Node) bool {
	for _, keyword := range []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required"} {
		if _, ok := n.Object[keyword]; ok {
			return true
		}
	}
	return mayBe(n, "object") && n.Object["type"] != nil && !combines(n)
}

func combines(n *jsonschema.Node) bool {
	return slices.ContainsFunc(n.Subs, func(s jsonschema.Sub) bool {
		return s.Keyword == "allOf" || s.Keyword == "anyOf" || s.Keyword == "oneOf"
	}) || n.Ref != nil
}

// patterns projects patternProperties: a name in the allowlist becomes a property, and * keeps the
// pattern.
func (p *projection) patterns(n *jsonschema.Node, paths []strictjson.Path, properties *table, out map[string]any) {
	kept := map[string]any{}
	for _, s := range n.Subs {
		if s.Keyword != "patternProperties" {
			continue
		}
		if rest := starred(paths); len(rest) > 0 {
			kept[s.Name] = p.keep(s.To, rest, true)
		}
		re, err := regexp.Compile(s.Name)
		for _, a := range paths {
			name := a[0]
			if err == nil && name != "*" && properties.of[name] == nil && re.MatchString(name) {
				properties.set(name, p.keep(s.To, below(paths, name), true))
			}
		}
	}
	if len(kept) > 0 {
		out["patternProperties"] = kept
	}
}

// additional projects the fields that n does not list.
func (p *projection) additional(n *jsonschema.Node, paths []strictjson.Path, closed bool, properties *table, out map[string]any) {
	value, stated := n.Object["additionalProperties"]
	if value == false {
		out["additionalProperties"] = false
		return
	}
	var extra *jsonschema.Node
	for _, s := range n.Subs {
		if s.Keyword == "additionalProperties" {
			extra = s.To
		}
	}
	if extra == nil {
		if len(n.Fields) > 0 || combines(n) || !closed {
			// The schema allows other fields without saying so. A path to an unlisted name is then
			// probably a typing error, and redaction keeps listed fields only.
			if unevaluated := n.Object["unevaluatedProperties"]; unevaluated == false {
				out["unevaluatedProperties"] = false
			} else if closed && !combines(n) && len(starred(paths)) == 0 {
				out["additionalProperties"] = false
			}
			return
		}
		extra = &jsonschema.Node{At: n.At, Boolean: true}
	}
	for _, a := range paths {
		if name := a[0]; name != "*" && properties.of[name] == nil && n.Fields[name] == nil {
			properties.set(name, p.keep(extra, below(paths, name), true))
		}
	}
	switch rest := starred(paths); {
	case len(rest) > 0:
		out["additionalProperties"] = p.keep(extra, rest, true)
	case closed:
		out["additionalProperties"] = false
	case stated:
		out["additionalProperties"] = value
	}
}

// mayBe reports whether type of n allows the kind.
func mayBe(n *jsonschema.Node, kind string) bool {
	switch declared := n.Object["type"].(type) {
	case string:
		return declared == kind
	case []any:
		return slices.Contains(declared, any(kind))
	}
	return true
}

// isContainer reports whether every value of n is an object or an array.
func isContainer(n *jsonschema.Node) bool {
	if n.Object == nil {
		return false
	}
	if n.Ref != nil && n.RefAlone() {
		return isContainer(n.Ref)
	}
	kinds := n.Names("type")
	if kind, ok := n.Text("type"); ok {
		kinds = []string{kind}
	}
	for _, kind := range kinds {
		if kind != "object" && kind != "array" {
			return false
		}
	}
	return len(kinds) > 0
}
